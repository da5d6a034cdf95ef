/* SPDX-License-Identifier: MIT */
#ifndef WAITS_CRITICAL_H
#define WAITS_CRITICAL_H

/*
 * The critical path of a process: from its last call back in time through that call's thread; at a
 * wait with a known waker, on through the waker. Speeding up code outside this path does not make
 * the process faster. The steps follow each other without a gap, so they add up to the total time.
 * Of each process the last CRITICAL_WAITS waits are kept, and the path begins after those that were
 * overwritten.
 */

#include "base/array.h"
#include "lanes.h"

#define CRITICAL_WAITS (1u << 18)

enum critical_step {
	CRITICAL_RAN,	 /* no known wait */
	CRITICAL_WAITED, /* it is not known which thread ended the wait */
	CRITICAL_WOKEN,	 /* from the wake until the thread ran */
};

struct critical_part {
	enum critical_step step;
	uint32_t thread;
	uint64_t since_ns, until_ns;
	/*
	 * RAN: where it woke the next thread of the path, NULL: to the end, or it created a thread;
	 * else of the wait
	 */
	const struct trace_node *backtrace;
	const char *function; /* WAITED: the function called */
};

struct critical {
	ARRAY_OF(struct lane_wait) waits; /* a ring of CRITICAL_WAITS */
	size_t next;			  /* index of the next one in a full ring */
	/* of the calls of the process; first_ns 0: there was none */
	uint64_t first_ns, last_ns;
	uint32_t last_thread;
};

/* A call of the process, and a wait. */
void critical_event(struct critical *critical, const struct event *event);
void critical_add(struct critical *critical, const struct lane_wait *wait);

/*
 * Walks the path from its end and calls tell for each part; then removes all waits. threads: of the
 * process.
 */
void critical_process(struct critical *critical, const struct threads *threads,
		      void (*tell)(void *user, const struct critical_part *part), void *user);

void critical_free(struct critical *critical);

#endif
