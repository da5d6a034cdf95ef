/* SPDX-License-Identifier: MIT */
#ifndef WAITS_LOCK_ORDER_H
#define WAITS_LOCK_ORDER_H

/*
 * The order in which locks are taken: an edge leads from a lock that a thread holds to a lock that
 * it takes next. A cycle of edges is a possible deadlock, even if it did not happen, unless a third
 * lock was held each time (a gate) or both sides were readers where they met. An attempt that
 * cannot block (trylock) makes no edge.
 *
 * All cycles of two locks are found, up to LOCK_ORDER_WAYS variants of an edge; longer ones by a
 * search with a budget when an edge is added.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"

#define LOCK_ORDER_GATES   7u	/* other locks held; further ones are ignored */
#define LOCK_ORDER_WAYS	   16u	/* variants of an edge, by sites and gates */
#define LOCK_ORDER_STEPS   4u	/* locks in a cycle */
#define LOCK_ORDER_CIRCLES 256u /* distinct cycles of a process */

struct lock_order_held {
	uint32_t lock;	 /* its index, which may be reused after lock_order_forget() */
	uint32_t serial; /* unique */
	uint32_t site;
	uint64_t object;
	bool is_shared;
};

/* A variant of an edge: its sites, gates and modes. */
struct lock_order_way {
	uint32_t next; /* of the same edge; 0: none */
	uint32_t from_site, to_site;
	uint32_t thread;
	bool has_more_threads;
	bool is_from_shared, is_to_shared;
	uint8_t gate_count;
	uint32_t gates[LOCK_ORDER_GATES]; /* serials, in the order in which they were taken */
	uint64_t count;
};

struct lock_order_links {
	uint32_t previous, next;
};

struct lock_order_edge {
	uint32_t from, to;	  /* locks */
	uint32_t ways, way_count; /* the one seen last comes first */
	uint64_t from_object, to_object;
	struct lock_order_links out, in; /* of a free entry: out.next is the next free one */
};

struct lock_order_node {
	uint32_t out, in; /* first edges of the lists */
};

struct lock_order_step {
	uint64_t from_object, to_object;
	uint32_t from_site, to_site;
	uint32_t thread; /* kernel's */
	uint64_t count;	 /* times the edge was seen until the cycle was found */
};

/* Step i leads from one lock to the first lock of step i + 1; the last step leads to the first. */
struct lock_order_cycle {
	unsigned count;
	uint64_t signature;
	struct lock_order_step steps[LOCK_ORDER_STEPS];
	bool is_one_thread; /* one thread made all steps, one after the other */
};

struct lock_order {
	struct map index;			/* numbers of edges */
	ARRAY_OF(struct lock_order_node) nodes; /* by lock */
	ARRAY_OF(struct lock_order_edge) edges; /* from 1 */
	ARRAY_OF(struct lock_order_way) ways;	/* from 1 */
	uint32_t spare_edge, spare_way;
	ARRAY_OF(struct lock_order_cycle) cycles;
	uint64_t cycles_left_out;
	uint64_t searched; /* edges, in the search for cycles of more than two */
};

void lock_order_init(struct lock_order *order);
void lock_order_free(struct lock_order *order);

/* Forgets everything: another process begins. */
void lock_order_clear(struct lock_order *order);

/*
 * A thread that holds the locks held (the newest first) blocks for and takes another lock.
 */
void lock_order_add(struct lock_order *order, const struct lock_order_held *held, unsigned count,
		    const struct lock_order_held *taken, uint32_t thread);

/* Ends a lock: its edges are removed, cycles already found stay. */
void lock_order_forget(struct lock_order *order, uint32_t lock);

#endif
