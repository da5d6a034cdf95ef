/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_LEAKS_H
#define MEMORY_LEAKS_H

/*
 * The objects that are live at the end, for the option -l. Each process of a trace has a ledger of
 * its live objects; leaks_finish() sorts the objects of all ledgers by the calls that acquired
 * them.
 */

#include "base/error.h"
#include "trace/event.h"

struct leaks;

struct leaks_total {
	const struct resource_class *resource;
	uint64_t count, bytes;
	/*
	 * whether memory was sampled: then `count` and `bytes` are sums of the samples only, and
	 * all_count and all_bytes are estimates for all blocks
	 */
	bool is_estimate;
	uint64_t all_count, all_bytes;
	double variance; /* variance of all_bytes */
	uint64_t error;	 /* error of all_bytes: half the width of the 95 % confidence interval */
};

/* with_arguments: also keep the arguments of the acquiring calls. */
void leaks_create(struct leaks **leaks, bool with_arguments);

/*
 * Limits the results to objects that were held for at least min_age_ns at the end. The end is the
 * time of the last event or, if that is earlier, until_ns (UINT64_MAX: no limit). Call it before
 * leaks_finish().
 */
void leaks_limit(struct leaks *leaks, uint64_t min_age_ns, uint64_t until_ns);

/* Processes a call or a note. */
void leaks_event(struct leaks *leaks, const struct event *event);

/* Call it after the last event. Sorts the live objects by the calls that acquired them. */
void leaks_finish(struct leaks *leaks);

size_t leaks_count(const struct leaks *leaks);

/* Sets *kept to the live object with index i. The caller must not free its arguments. */
void leaks_at(const struct leaks *leaks, size_t i, struct kept_call *kept);

/*
 * Returns the sums of the i-th class, in the order of the first live object of each class; NULL
 * after the last one.
 */
const struct leaks_total *leaks_total(const struct leaks *leaks, size_t i);

/* Returns the sums of a class; zeros if it has no live objects. */
struct leaks_total leaks_total_of(const struct leaks *leaks, const struct resource_class *resource);

void leaks_destroy(struct leaks *leaks);

#endif
