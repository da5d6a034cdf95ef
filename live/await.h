/* SPDX-License-Identifier: MIT */
#ifndef LIVE_AWAIT_H
#define LIVE_AWAIT_H

/*
 * What a sleeping thread waits for and who can end it: by the system call it is in, the function
 * that made it, and the words of the lock itself, as glibc and the kernel keep them.
 */

#include "live/running.h"

enum await_kind {
	AWAIT_NOTHING, /* it runs, or nobody knows */
	AWAIT_MUTEX,
	AWAIT_RWLOCK,
	AWAIT_CONDITION,
	AWAIT_SEMAPHORE,
	AWAIT_BARRIER,
	AWAIT_JOIN,
	AWAIT_ONCE,
	AWAIT_FUTEX, /* of whatever */
	AWAIT_FILE_LOCK,
	AWAIT_FILE,  /* input or output of a descriptor */
	AWAIT_FILES, /* of several */
	AWAIT_CHILD,
	AWAIT_TIME,
	AWAIT_SIGNAL,
	AWAIT_CALL, /* another system call */
};

struct await {
	enum await_kind kind;
	uint64_t address;  /* of the lock, else of the futex; 0: none */
	int owner;	   /* thread id, as the process counts; 0: nobody, or not known */
	bool has_ended;	   /* there is no thread owner any more */
	bool is_elsewhere; /* in another process, whose numbers are not ours */
	int owner_pid;	   /* if it is of another process, or a process has it (a file's) */
	char owner_name[LIVE_NAME_MAX]; /* of the process that has a file's lock */
	uint32_t readers;		/* that hold a read-write lock */
	int fd;				/* -1: none */
	char path[256];			/* what fd is */
};

/*
 * names: of the thread's functions, innermost first; NULL: one has none. Of a file's lock the owner
 * is not looked for (live/file_locks.h).
 */
void await_find(struct await *await, const struct live_process *process,
		const struct live_thread *thread, const char *const *names, size_t count);

/* "mutex", "child" ...: what it waits for; "runs" for nothing. */
const char *await_word(enum await_kind kind);

/*
 * The threads that wait for each other in a ring that begins with threads[start], in their order:
 * each waits for what the next one holds, the last for the first's. Returns how many; 0: none.
 */
size_t await_ring(const struct live_process *process, const struct await *awaits, size_t start,
		  size_t *ring, size_t max);

#endif
