/* SPDX-License-Identifier: MIT */
#ifndef WAITS_CRITICAL_H
#define WAITS_CRITICAL_H

/*
 * The critical path of a process: from its last call back in time through the thread that made it;
 * where that had waited and somebody woke it, on through who woke it. What is faster beside this
 * path makes the process no faster. Its steps follow each other without a gap, so they add up to
 * the time that is looked at. Of the waits of a process the last CRITICAL_WAITS are known, and the
 * path begins behind those that are not.
 */

#include "base/array.h"
#include "lanes.h"

#define CRITICAL_WAITS (1u << 18)

enum critical_step {
	CRITICAL_RAN,	 /* no wait that is known of */
	CRITICAL_WAITED, /* and nobody is known who ended it */
	CRITICAL_WOKEN,	 /* from the moment when it was woken until it ran */
};

struct critical_part {
	enum critical_step step;
	uint32_t thread;
	uint64_t since_ns, until_ns;
	/* RAN: where it woke the next one, NULL: to the end, or it began a thread; else of the wait
	 */
	const struct trace_node *backtrace;
	const char *function; /* WAITED: that was called */
};

struct critical {
	ARRAY_OF(struct lane_wait) waits; /* a ring of CRITICAL_WAITS */
	size_t next;			  /* place of the next one in a full ring */
	uint64_t first_ns, last_ns;	  /* calls of the process; first_ns 0: there was none */
	uint32_t last_thread;
};

/* A call of the process, and a wait. */
void critical_event(struct critical *critical, const struct event *event);
void critical_add(struct critical *critical, const struct lane_wait *wait);

/*
 * Walks the path from its end and tells of each part; forgets all then. threads: of the process.
 */
void critical_process(struct critical *critical, const struct threads *threads,
		      void (*tell)(void *user, const struct critical_part *part), void *user);

void critical_free(struct critical *critical);

#endif
