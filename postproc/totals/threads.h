/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_THREADS_H
#define TOTALS_THREADS_H

/*
 * The threads of one process: who made whom, how long each lived, what it waited for and what
 * became of it. Kernel's numbers and handles are used again, so both mean their last user; a thread
 * begins with the call that made it, or with its first event where that was not seen. Memory grows
 * with the threads of the process.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "trace/event.h"

struct hook;

#define THREAD_NONE	 UINT32_MAX
#define THREAD_NAME_SIZE 16u   /* the kernel's TASK_COMM_LEN */
#define THREADS_WAIT_NS	 1000u /* what took less did not wait */
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
	uint32_t tid;	  /* 0: it made no call */
	uint64_t pthread; /* 0: not known */
	uint32_t creator; /* index, or THREAD_NONE */
	uint64_t first_ns, last_ns;
	const struct backtrace *backtrace; /* of the call that made it, or NULL */
	uint64_t index;			   /* of that call */
	char name[THREAD_NAME_SIZE];	   /* "": it got none */
	uint64_t events;
	uint64_t waited_ns[THREAD_WAITS];
	bool is_first; /* the thread that the process began with */
	bool is_detached, is_joined;
	bool has_ended;	   /* it said so: pthread_exit */
	uint64_t ended_ns; /* when somebody who waited for its end saw it; 0: nobody did */
	char open_call[THREAD_CALL_SIZE]; /* that it was in when the process ended, or "" */
};

struct threads {
	ARRAY_OF(struct thread_life) list;
	struct map by_number, by_handle; /* index of the last user + 1 */
	uint32_t last;			 /* of the last event, or THREAD_NONE */
};

void threads_init(struct threads *threads);

/* All are forgotten: another process. */
void threads_clear(struct threads *threads);

/*
 * True if the thread was in this call for so long that it counts as a wait, and for what. Its time
 * is not in that of a call around it that counts.
 */
bool threads_waits(const struct hook *hook, const struct event *event, enum thread_wait *wait);

/* The last user of a pthread's handle, or NULL. */
const struct thread_life *threads_of_handle(const struct threads *threads, uint64_t handle);

/* A call or a note, in the order of the stream. */
void threads_event(struct threads *threads, const struct event *event);
void threads_note(struct threads *threads, const struct event *event);

#endif
