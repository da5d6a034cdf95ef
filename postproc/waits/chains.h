/* SPDX-License-Identifier: MIT */
#ifndef WAITS_CHAINS_H
#define WAITS_CHAINS_H

/*
 * Attributes the time that threads waited for locks. The holder of a lock may itself wait for
 * another thread, and that part of the wait is attributed to the other thread. So each wait is
 * divided into parts, and each part has a chain: the waiter, the thread it waited for, the thread
 * that this one waited for ..., up to a thread that did not wait. The parts of a wait add up to it.
 * In a cycle of waits that have not ended every thread waits: there each wait is attributed to the
 * thread whose lock it waits for.
 *
 * Of each thread the last CHAINS_PARTS parts of its own waits are known; before these it counts as
 * not waiting. Chains longer than CHAINS_STEPS end there. Both are counted. Memory grows with call
 * sites, threads and distinct chains, never with waits.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "base/pool.h"
#include "lanes.h"

#define CHAINS_PARTS 64u
#define CHAINS_STEPS 16u
#define CHAINS_MOST  65536u /* links; later chains end after their first step */

/* One step: a thread waited at waiter for a thread at waker, which itself waited as next says. */
struct chains_link {
	const struct trace_node *waiter;
	/* call site of the thread it waits for; NULL: not known, or no thread */
	const struct trace_node *waker;
	uint32_t next; /* 0: that thread did not wait, or is_cycle */
	bool is_cycle; /* that thread waits directly or indirectly for the waiter */
	uint32_t steps;
	enum lane_kind kind;
	const char *function; /* that the waiter called */
	/* waits for a lock that begin with this step */
	uint64_t count, ns, longest_ns;
	uint32_t pid, thread, waker_thread; /* of the longest wait */
};

struct chains_part {
	uint64_t from_ns, to_ns;
	uint32_t link;
	bool is_cycle;
};

struct chains_thread {
	uint32_t first, count; /* a ring */
	/* parts that ended before this time are no longer known; 0: all are known */
	uint64_t forgotten_ns;
	uint64_t open; /* index + 1 of its wait that has not ended */
	struct chains_part parts[CHAINS_PARTS];
};

struct chains {
	struct map places;    /* by backtrace, and pairs of them */
	struct map index;     /* of links */
	struct map by_number; /* of threads */
	uint32_t place_count;
	struct pool names;
	ARRAY_OF(struct chains_link) links;	  /* from 1 */
	ARRAY_OF(struct chains_thread *) threads; /* from 1; of the process */
	ARRAY_OF(struct lane_wait) open;
	uint64_t cut; /* waits with a part that is no longer known, or with a longer chain */
};

void chains_init(struct chains *chains);
void chains_free(struct chains *chains);

/* A wait that has ended, or was under way at the end. */
void chains_add(struct chains *chains, const struct lane_wait *wait, uint32_t pid);

/* The process has ended: adds its waits that have not ended, and removes its threads. */
void chains_process(struct chains *chains, uint32_t pid);

/* The last step of a chain. */
const struct chains_link *chains_end(const struct chains *chains, const struct chains_link *link);

#endif
