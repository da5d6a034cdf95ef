/* SPDX-License-Identifier: MIT */
#ifndef WAITS_CHAINS_H
#define WAITS_CHAINS_H

/*
 * Attributes waits for locks to the threads that caused them. While a thread waits for a lock, the
 * holder of the lock may itself wait for a third thread; that part of the wait is attributed to the
 * third thread. So each wait is divided into parts, and each part has a chain of threads: the
 * waiter, then the thread that the waiter waited for, and so on, up to a thread that did not wait.
 * The parts add up to the wait. In a deadlock all threads wait, so there each wait is attributed to
 * the holder of its lock.
 *
 * Only the last CHAINS_PARTS parts of each thread's waits are stored; before these parts, the
 * thread counts as not waiting. Chains end after CHAINS_STEPS steps. `cut` counts how often one of
 * these limits took effect. Memory use grows with the numbers of call sites, threads and distinct
 * chains, not with the number of waits.
 */

#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "base/pool.h"
#include "lanes.h"

#define CHAINS_PARTS 64u
#define CHAINS_STEPS 16u
/* maximum number of links; when that many exist, new chains end after their first step */
#define CHAINS_MOST 65536u

/*
 * A step of a chain: a thread waited at the call site `waiter` for another thread, which was at the
 * call site `waker`. The link `next` is the wait of that other thread.
 */
struct chains_link {
	const struct trace_node *waiter;
	/* NULL: unknown, or there is no other thread */
	const struct trace_node *waker;
	uint32_t next; /* next link; 0: the thread at `waker` did not wait, or is_cycle is set */
	bool is_cycle; /* the thread at `waker` waits, directly or indirectly, for this waiter */
	uint32_t steps;
	enum lane_kind kind;
	const char *function; /* the function that the waiter called */
	/* sums of the waits for locks whose chains begin with this step */
	uint64_t count, ns, longest_ns;
	uint32_t pid, thread, waker_thread; /* tids in the longest wait */
};

struct chains_part {
	uint64_t from_ns, to_ns;
	uint32_t link;
	bool is_cycle;
};

struct chains_thread {
	uint32_t first, count; /* index of the first part in the ring buffer, and number of parts */
	/* parts that ended before this time were overwritten; 0: none */
	uint64_t forgotten_ns;
	/* index + 1, in chains.open, of this thread's wait that has not ended; 0: no such wait */
	uint64_t open;
	struct chains_part parts[CHAINS_PARTS];
};

/* Initialise it with zeros. */
struct chains {
	struct map places;    /* key: backtrace, or pair of call sites; value: its number */
	struct map index;     /* key: see add_link(); value: number of the link */
	struct map by_number; /* key: tid; value: number of the thread */
	uint32_t place_count;
	struct pool names;
	ARRAY_OF(struct chains_link) links; /* index 0 is unused */
	/* threads of the current process; index 0 is unused */
	ARRAY_OF(struct chains_thread *) threads;
	ARRAY_OF(struct lane_wait) open;
	uint64_t cut; /* how often a limit made a chain incomplete */
};

void chains_free(struct chains *chains);

/* Adds a wait that has ended, or that had not ended when the process ended. */
void chains_add(struct chains *chains, const struct lane_wait *wait, uint32_t pid);

/* Adds the waits that have not ended, and removes the threads. Call it at the end of a process. */
void chains_process(struct chains *chains, uint32_t pid);

/* Returns the last step of the chain that begins with `link`. */
const struct chains_link *chains_end(const struct chains *chains, const struct chains_link *link);

#endif
