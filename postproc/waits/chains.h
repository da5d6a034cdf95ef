/* SPDX-License-Identifier: MIT */
#ifndef WAITS_CHAINS_H
#define WAITS_CHAINS_H

/*
 * To whom the time is owed that threads waited for locks: whoever has the lock may itself wait for
 * another thread meanwhile, and then that part of the wait is owed to that one. So each wait falls
 * into parts, and each part has a chain: who waited, for whom, who waited for whom ..., until
 * somebody who did not wait. The parts of a wait add up to it. In a cycle of waits that have not
 * ended every thread waits: there each wait is owed to the one whose lock it waits for.
 *
 * Of each thread the last CHAINS_PARTS parts of its own waits are known; what was before counts as
 * if it had not waited. Chains longer than CHAINS_STEPS end there. Both are counted. Memory grows
 * with places, threads and different chains, never with waits.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "base/pool.h"
#include "lanes.h"

#define CHAINS_PARTS 64u
#define CHAINS_STEPS 16u
#define CHAINS_MOST  65536u /* links; what is new then ends with its first step */

/* One step: somebody waited here for who is there, who waited as next says. */
struct chains_link {
	const struct trace_node *waiter;
	const struct trace_node *waker; /* of whom it waits; NULL: not known, or nobody */
	uint32_t next;			/* 0: whoever it is did not wait, or is_cycle */
	bool is_cycle; /* whoever it is waits, too, and in the end for the waiter */
	uint32_t steps;
	enum lane_kind kind;
	const char *function; /* that the waiter called */
	/* where a wait for a lock begins with this step */
	uint64_t count, ns, longest_ns;
	uint32_t pid, thread, waker_thread; /* of the longest */
};

struct chains_part {
	uint64_t from_ns, to_ns;
	uint32_t link;
	bool is_cycle;
};

struct chains_thread {
	uint32_t first, count; /* a ring */
	uint64_t forgotten_ns; /* what ended until then is not known any more; 0: all is */
	uint64_t open;	       /* index of its wait that has not ended + 1 */
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
	uint64_t cut; /* waits a part of which is not known, or whose chain is longer */
};

void chains_init(struct chains *chains);
void chains_free(struct chains *chains);

/* A wait that is over, or was under way at the end. */
void chains_add(struct chains *chains, const struct lane_wait *wait, uint32_t pid);

/* The process has no more waits: those that have not ended count, and its threads are forgotten. */
void chains_process(struct chains *chains, uint32_t pid);

/* The last step of a chain. */
const struct chains_link *chains_end(const struct chains *chains, const struct chains_link *link);

#endif
