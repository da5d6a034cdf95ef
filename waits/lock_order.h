/* SPDX-License-Identifier: MIT */
#ifndef WAITS_LOCK_ORDER_H
#define WAITS_LOCK_ORDER_H

/*
 * The order in which threads take locks. If a thread takes a lock while it holds another lock, an
 * edge leads from the held lock to the lock taken. A cycle of edges is a possible deadlock, even if
 * it did not happen, with two exceptions. A further lock that was held on all edges (a gate)
 * prevents the deadlock. So does a lock of the cycle if both the thread that holds it and the
 * thread that waits for it are readers. An attempt that cannot block (trylock) makes no edge.
 *
 * All cycles of two locks are found, unless an edge has more than LOCK_ORDER_WAYS variants. When an
 * edge is added, longer cycles are searched for, up to a limit of visited edges.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"

/*
 * maximum number of further held locks that are stored for a variant of an edge; others are ignored
 */
#define LOCK_ORDER_GATES   7u
#define LOCK_ORDER_WAYS	   16u	/* maximum number of variants that are stored for an edge */
#define LOCK_ORDER_STEPS   4u	/* maximum number of locks in a cycle */
#define LOCK_ORDER_CIRCLES 256u /* maximum number of distinct cycles in a process */

struct lock_order_held {
	uint32_t lock;	 /* index of the lock, which may be reused after lock_order_forget() */
	uint32_t serial; /* a number that no other lock of the process has */
	uint32_t site;
	uint64_t object;
	bool is_shared;
};

/* A variant of an edge. Variants differ in their sites, gates or modes (shared or not). */
struct lock_order_way {
	uint32_t next; /* next variant of the same edge; 0: none */
	uint32_t from_site, to_site;
	uint32_t thread;
	bool has_more_threads;
	bool is_from_shared, is_to_shared;
	uint8_t gate_count;
	uint32_t gates[LOCK_ORDER_GATES]; /* serials of the other held locks, newest first */
	uint64_t count;
};

struct lock_order_links {
	uint32_t previous, next;
};

struct lock_order_edge {
	uint32_t from, to; /* indices of locks */
	/* list of the edge's variants, the most recent first, and their number */
	uint32_t ways, way_count;
	uint64_t from_object, to_object;
	struct lock_order_links out, in; /* out.next also links the free list */
};

struct lock_order_node {
	uint32_t out, in; /* first edge that leaves, or enters, the lock */
};

struct lock_order_step {
	uint64_t from_object, to_object;
	uint32_t from_site, to_site;
	uint32_t thread; /* the kernel's thread id */
	uint64_t count;	 /* how often the edge had been seen when the cycle was found */
};

/*
 * Each step leads from one lock to the lock at which the next step starts; the last step leads back
 * to the first lock.
 */
struct lock_order_cycle {
	unsigned count;
	uint64_t signature;
	struct lock_order_step steps[LOCK_ORDER_STEPS];
	bool is_one_thread; /* all steps were made by a single thread, at different times */
};

struct lock_order {
	struct map index;			/* (from, to) -> index in edges */
	ARRAY_OF(struct lock_order_node) nodes; /* indexed by lock */
	ARRAY_OF(struct lock_order_edge) edges; /* indices start at 1 */
	ARRAY_OF(struct lock_order_way) ways;	/* indices start at 1 */
	uint32_t spare_edge, spare_way;
	ARRAY_OF(struct lock_order_cycle) cycles;
	uint64_t cycles_left_out;
	uint64_t searched; /* edges visited so far in searches for cycles of more than two locks */
};

void lock_order_init(struct lock_order *order);
void lock_order_free(struct lock_order *order);

/* Drops all data, for use with another process. */
void lock_order_clear(struct lock_order *order);

/*
 * Adds the edges of a thread that takes the lock `taken` by a blocking call while it holds the
 * locks `held`, newest first.
 */
void lock_order_add(struct lock_order *order, const struct lock_order_held *held, unsigned count,
		    const struct lock_order_held *taken, uint32_t thread);

/* Removes the edges of a lock that was destroyed. Keeps the cycles that were found before. */
void lock_order_forget(struct lock_order *order, uint32_t lock);

#endif
