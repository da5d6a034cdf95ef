/* SPDX-License-Identifier: MIT */
#ifndef WAITS_CRITICAL_H
#define WAITS_CRITICAL_H

/*
 * The critical path of a process. It is followed back in time, beginning with the last call, in the
 * thread of that call; at a wait with a known waker, it goes on in the thread of the waker.
 * Speeding up code outside this path does not make the process faster. The steps follow each other
 * without a gap, so they add up to the total time. Only the last CRITICAL_WAITS waits of a process
 * are kept; the path begins after those that were overwritten.
 */

#include "base/array.h"
#include "lanes.h"

#define CRITICAL_WAITS (1u << 18)

enum critical_step {
	CRITICAL_RAN,	 /* the thread ran, as far as is known */
	CRITICAL_WAITED, /* the thread waited, and it is not known which thread ended the wait */
	CRITICAL_WOKEN,	 /* the wait was ended, but the thread did not run yet */
};

struct critical_part {
	enum critical_step step;
	uint32_t thread;
	uint64_t since_ns, until_ns;
	/*
	 * CRITICAL_RAN: call site at which the thread woke the next thread of the path; NULL: it
	 * ran to the end, or created the next thread. Other steps: call site of the wait.
	 */
	const struct trace_node *backtrace;
	const char *function; /* for CRITICAL_WAITED: the function that was called */
};

struct critical {
	ARRAY_OF(struct lane_wait) waits; /* the last CRITICAL_WAITS waits, as a ring */
	size_t next;			  /* index of the next wait in the full ring */
	/* start of the first call and end of the last one; first_ns 0: there was no call */
	uint64_t first_ns, last_ns;
	uint32_t last_thread;
};

/* critical_event() takes a call of the process, critical_add() a wait. */
void critical_event(struct critical *critical, const struct event *event);
void critical_add(struct critical *critical, const struct lane_wait *wait);

/*
 * Follows the path from its end and calls tell() for each part; then removes all waits. threads:
 * the threads of the process.
 */
void critical_process(struct critical *critical, const struct threads *threads,
		      void (*tell)(void *user, const struct critical_part *part), void *user);

void critical_free(struct critical *critical);

#endif
