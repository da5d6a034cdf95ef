/* SPDX-License-Identifier: MIT */
#ifndef LIVE_AWAIT_H
#define LIVE_AWAIT_H

/*
 * Finds what a sleeping thread waits for, and which thread or process can wake it. Sources are the
 * system call, the function that made the call, and the memory of the lock in the layout of glibc
 * and the kernel.
 */

#include "live/running.h"

enum await_kind {
#define AWAIT(kind, ...) AWAIT_##kind,
#include "live/await.def"
#undef AWAIT
};

#define AWAIT_MAY_HOLD_MAX 4u

struct await {
	enum await_kind kind;
	const char *futex; /* AWAIT_FUTEX: the use of the futex, as in naming/waiters.h */
	bool has_limit;	   /* AWAIT_FUTEX: the wait has a time limit */
	uint64_t address; /* address of the lock, or of the futex if the lock is unknown; 0: none */
	int owner;	  /* thread id in the process's pid namespace; 0: no owner or unknown */
	bool has_ended;	  /* the owner thread has ended */
	bool is_elsewhere; /* the owner is in another process that is in another pid namespace */
	/*
	 * the owner's process, if it is not this process; for a file lock, the process that holds
	 * it; 0: none or unknown
	 */
	int owner_pid;
	char owner_name[LIVE_NAME_MAX]; /* name of the process that holds a file's lock */
	uint32_t readers;		/* number of threads that hold a read-write lock */
	/*
	 * thread ids of threads that may hold the lock (live/look.c). may_hold_count also counts
	 * threads that do not fit into the array.
	 */
	int may_hold[AWAIT_MAY_HOLD_MAX];
	size_t may_hold_count;
	int fd;		/* descriptor; -1: none */
	char path[256]; /* path of the file of fd */
};

/*
 * Describes the wait of a thread. names: functions of the thread, innermost first; an entry is NULL
 * if unknown. Does not find the owner of a file's lock (see live/file_locks.c).
 */
void await_find(struct await *await, const struct live_process *process,
		const struct live_thread *thread, const char *const *names, size_t count);

/* Names of a kind: as a word, "mutex", "child" ...; as a text, "waits for mutex", "sleeps" ... */
const char *await_word(enum await_kind kind);
const char *await_text(enum await_kind kind);

/*
 * Finds the deadlock cycle that begins with threads[start]. Each thread of the cycle waits for a
 * lock of the next thread, and the last thread for a lock of the first. Writes the threads' indexes
 * to `ring`. Returns the length of the cycle, or 0 if the thread is not in a cycle.
 */
size_t await_ring(const struct live_process *process, const struct await *awaits, size_t start,
		  size_t *ring, size_t max);

#endif
