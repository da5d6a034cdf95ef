/* SPDX-License-Identifier: MIT */
#ifndef LIVE_AWAIT_H
#define LIVE_AWAIT_H

/*
 * What a sleeping thread waits for and which thread or process can wake it. Found by its system
 * call, the function that made the call, and the memory of the lock, as glibc and the kernel lay it
 * out.
 */

#include "live/running.h"

enum await_kind {
	AWAIT_NOTHING, /* it runs, or the wait is unknown */
	AWAIT_MUTEX,
	AWAIT_RWLOCK,
	AWAIT_CONDITION,
	AWAIT_SEMAPHORE,
	AWAIT_BARRIER,
	AWAIT_JOIN,
	AWAIT_ONCE,
	AWAIT_FUTEX, /* unknown use of a futex */
	AWAIT_FILE_LOCK,
	AWAIT_FILE,  /* input or output of a descriptor */
	AWAIT_FILES, /* several descriptors */
	AWAIT_CHILD,
	AWAIT_TIME,
	AWAIT_SIGNAL,
	AWAIT_CALL, /* another system call */
};

struct await {
	enum await_kind kind;
	uint64_t address;  /* of the lock, else of the futex; 0: none */
	int owner;	   /* thread id in the process's pid namespace; 0: no owner or unknown */
	bool has_ended;	   /* the owner thread has ended */
	bool is_elsewhere; /* the owner is in another process, in another pid namespace */
	int owner_pid;	   /* if the owner is in another process, or a process owns the lock (of a
			    * file) */
	char owner_name[LIVE_NAME_MAX]; /* of the process that holds a file's lock */
	uint32_t readers;		/* that hold a read-write lock */
	int fd;				/* -1: none */
	char path[256];			/* the file of fd */
};

/*
 * names: functions of the thread, innermost first; an entry is NULL if unknown. Does not look for
 * the owner of a file's lock (live/file_locks.h).
 */
void await_find(struct await *await, const struct live_process *process,
		const struct live_thread *thread, const char *const *names, size_t count);

/* "mutex", "child" ...; "runs" for AWAIT_NOTHING. */
const char *await_word(enum await_kind kind);

/*
 * The deadlock cycle that begins with threads[start]: each thread waits for a lock of the next one,
 * the last one for a lock of the first. Returns its length; 0: none.
 */
size_t await_ring(const struct live_process *process, const struct await *awaits, size_t start,
		  size_t *ring, size_t max);

#endif
