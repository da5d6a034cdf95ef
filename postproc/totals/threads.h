/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_THREADS_H
#define TOTALS_THREADS_H

/*
 * The threads of one process: which thread created which, how long each lived, what it waited for
 * and how it ended. Tids and pthread_t values are reused, so a lookup finds the last thread that
 * had the value. A thread begins with the call that created it or, if that call was not recorded,
 * with its first event. Memory grows with the number of threads of the process.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "trace/event.h"

struct hook;

#define THREAD_NONE	 UINT32_MAX
#define THREAD_NAME_SIZE 16u   /* the kernel's TASK_COMM_LEN */
#define THREADS_WAIT_NS	 1000u /* shorter calls do not count as waits */
#define THREAD_CALL_SIZE 32u

enum thread_wait { /* in the order of the columns of the table thread_waits */
		   THREAD_WAIT_LOCK,
		   THREAD_WAIT_SEMAPHORE,
		   THREAD_WAIT_CONDITION,
		   THREAD_WAIT_FUTEX,
		   THREAD_WAIT_JOIN,  /* waits for threads and processes, and in barriers */
		   THREAD_WAIT_OTHER, /* other calls that may wait: poll, read, sleep, open */
		   THREAD_WAITS
};

struct thread_life {
	uint32_t tid;	  /* 0: the thread has made no recorded call */
	uint64_t pthread; /* 0: unknown */
	uint32_t creator; /* index of the creating thread, or THREAD_NONE */
	uint64_t first_ns, last_ns;
	/* backtrace of the call that created the thread; NULL: unknown */
	const struct backtrace *backtrace;
	uint64_t index;		     /* index of that call */
	char name[THREAD_NAME_SIZE]; /* "": the thread has no name */
	uint64_t events;
	uint64_t waited_ns[THREAD_WAITS];
	bool is_first; /* this is the first thread of the process */
	bool is_detached, is_joined;
	bool has_ended; /* the thread has called pthread_exit() or thrd_exit() */
	/* time at which a join that waited for this thread returned; 0: unknown */
	uint64_t ended_ns;
	/* the function in which the thread was when the process ended; "": none */
	char open_call[THREAD_CALL_SIZE];
};

struct threads {
	ARRAY_OF(struct thread_life) list;
	/* keys: tid and pthread_t; value: index + 1 of the last thread with this key */
	struct map by_number, by_handle;
	uint32_t last; /* index of the thread of the last event, or THREAD_NONE */
};

void threads_init(struct threads *threads);

/* Removes all threads. Call it before the next process. */
void threads_clear(struct threads *threads);

/*
 * Whether the call took long enough to count as a wait. Sets *wait to the kind of the wait. A
 * nested call of the kind THREAD_WAIT_OTHER does not count: its time belongs to the enclosing call.
 */
bool threads_waits(const struct hook *hook, const struct event *event, enum thread_wait *wait);

/* Returns the last thread with this pthread_t, or NULL. */
const struct thread_life *threads_of_handle(const struct threads *threads, uint64_t handle);

/* threads_event() processes a call, threads_note() a note; call both in the order of the stream. */
void threads_event(struct threads *threads, const struct event *event);
void threads_note(struct threads *threads, const struct event *event);

#endif
