/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_THREADS_H
#define TOTALS_THREADS_H

/*
 * The threads of one process: which thread created which, how long each lived, what it waited for
 * and how it ended. Tids and pthread_t values are reused, so a lookup finds the last user; a thread
 * begins with the call that created it, or with its first event if that call was not recorded.
 * Memory grows with the number of threads of the process.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "trace/event.h"

struct hook;

#define THREAD_NONE	 UINT32_MAX
#define THREAD_NAME_SIZE 16u   /* the kernel's TASK_COMM_LEN */
#define THREADS_WAIT_NS	 1000u /* shorter calls count as no wait */
#define THREAD_CALL_SIZE 32u

enum thread_wait { /* in the order of the columns of thread_waits */
		   THREAD_WAIT_LOCK,
		   THREAD_WAIT_SEMAPHORE,
		   THREAD_WAIT_CONDITION,
		   THREAD_WAIT_JOIN,  /* for threads, processes and barriers */
		   THREAD_WAIT_OTHER, /* in other calls that may wait: open, accept, connect */
		   THREAD_WAITS
};

struct thread_life {
	uint32_t tid;	  /* 0: it made no recorded call */
	uint64_t pthread; /* 0: not known */
	uint32_t creator; /* index of the thread that created it, or THREAD_NONE */
	uint64_t first_ns, last_ns;
	const struct backtrace *backtrace; /* of the call that created it, or NULL */
	uint64_t index;			   /* of that call */
	char name[THREAD_NAME_SIZE];	   /* "": it was not named */
	uint64_t events;
	uint64_t waited_ns[THREAD_WAITS];
	bool is_first; /* the first thread of the process */
	bool is_detached, is_joined;
	bool has_ended;	   /* by pthread_exit */
	uint64_t ended_ns; /* when the thread that joined it saw its end; 0: not known */
	/* the call that it was in when the process ended, or "" */
	char open_call[THREAD_CALL_SIZE];
};

struct threads {
	ARRAY_OF(struct thread_life) list;
	struct map by_number, by_handle; /* index + 1 of the last thread with it */
	uint32_t last;			 /* thread of the last event, or THREAD_NONE */
};

void threads_init(struct threads *threads);

/* Removes all threads, for another process. */
void threads_clear(struct threads *threads);

/*
 * Whether the call took so long that it counts as a wait, and for what. Nested waits: the time
 * counts for the inner call only.
 */
bool threads_waits(const struct hook *hook, const struct event *event, enum thread_wait *wait);

/* The last thread with this pthread_t, or NULL. */
const struct thread_life *threads_of_handle(const struct threads *threads, uint64_t handle);

/* A call or a note, in the order of the stream. */
void threads_event(struct threads *threads, const struct event *event);
void threads_note(struct threads *threads, const struct event *event);

#endif
