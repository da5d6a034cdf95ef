/* SPDX-License-Identifier: MIT */
#ifndef WAITS_WAIT_SUMS_H
#define WAITS_WAIT_SUMS_H

/* Sums of the waits of a run, by kind, call site of the waiter, and call site of the waker. */

#include "base/array.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "lanes.h"

struct wait_sum {
	enum lane_kind kind;
	const struct trace_node *waiter, *waker; /* waker NULL: not known */
	const char *function;
	uint64_t count, ns;
};

struct wait_sums {
	struct pool pool;
	struct hash_table table;
	ARRAY_OF(struct wait_sum *) list; /* the sums in the order of their first waits */
};

void wait_sums_init(struct wait_sums *sums);
void wait_sums_add(struct wait_sums *sums, const struct lane_wait *wait);
void wait_sums_free(struct wait_sums *sums);

#endif
