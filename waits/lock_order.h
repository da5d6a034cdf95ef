/* SPDX-License-Identifier: MIT */
#ifndef WAITS_LOCK_ORDER_H
#define WAITS_LOCK_ORDER_H

/*
 * In which order locks are taken: an edge leads from a lock that a thread has to the one that it
 * takes then. Edges that close a circle are a possible deadlock, even if it did not happen; unless
 * a third lock was held each time (a gate), or all were readers where they met. An attempt that
 * cannot wait makes no edge.
 *
 * Circles of two are all found, as long as no more than some ways lead from one lock to another;
 * longer ones in a search with a budget, when an edge is new.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"

#define LOCK_ORDER_GATES   7u	/* held besides; the rest is taken for none */
#define LOCK_ORDER_WAYS	   16u	/* from one lock to another, by sites and gates */
#define LOCK_ORDER_STEPS   4u	/* locks in a circle */
#define LOCK_ORDER_CIRCLES 256u /* of a process that are told apart */

struct lock_order_held {
	uint32_t lock;	 /* its entry, which may be used again after lock_order_forget() */
	uint32_t serial; /* never used again */
	uint32_t site;
	uint64_t object;
	bool is_shared;
};

/* How an edge was passed. */
struct lock_order_way {
	uint32_t next; /* of the same edge; 0: none */
	uint32_t from_site, to_site;
	uint32_t thread;
	bool has_more_threads;
	bool is_from_shared, is_to_shared;
	uint8_t gate_count;
	uint32_t gates[LOCK_ORDER_GATES]; /* serials, in the order of their taking */
	uint64_t count;
};

struct lock_order_links {
	uint32_t previous, next;
};

struct lock_order_edge {
	uint32_t from, to;	  /* locks */
	uint32_t ways, way_count; /* the one passed last comes first */
	uint64_t from_object, to_object;
	struct lock_order_links out, in; /* of a free entry: out.next is the next one */
};

struct lock_order_node {
	uint32_t out, in; /* first edges */
};

struct lock_order_step {
	uint64_t from_object, to_object;
	uint32_t from_site, to_site;
	uint32_t thread; /* kernel's */
	uint64_t count;	 /* times it was passed when that was found out */
};

/* Step i leads from a lock to that of step i + 1; the last one to the first. */
struct lock_order_circle {
	unsigned count;
	uint64_t signature;
	struct lock_order_step steps[LOCK_ORDER_STEPS];
	bool is_one_thread; /* the same thread did it all, one after the other */
};

struct lock_order {
	struct map index;			/* of edges */
	ARRAY_OF(struct lock_order_node) nodes; /* by lock */
	ARRAY_OF(struct lock_order_edge) edges; /* from 1 */
	ARRAY_OF(struct lock_order_way) ways;	/* from 1 */
	uint32_t spare_edge, spare_way;
	ARRAY_OF(struct lock_order_circle) circles;
	uint64_t circles_left_out;
	uint64_t searched; /* edges, for circles of more than two */
};

void lock_order_init(struct lock_order *order);
void lock_order_free(struct lock_order *order);

/* Another process. */
void lock_order_clear(struct lock_order *order);

/*
 * A thread that has the locks held (the newest first) waits for, and gets, another one. Returns 0
 * or -ENOMEM.
 */
int lock_order_add(struct lock_order *order, const struct lock_order_held *held, unsigned count,
		   const struct lock_order_held *taken, uint32_t thread);

/* The lock is no more: its edges go, the circles that were found stay. */
void lock_order_forget(struct lock_order *order, uint32_t lock);

#endif
