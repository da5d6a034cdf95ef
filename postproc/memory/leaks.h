/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_LEAKS_H
#define MEMORY_LEAKS_H

/*
 * Each object held at the end, as -l lists them: a ledger for each process of a trace, and finally
 * their items in the order of the calls that acquired them.
 */

#include "account/keep.h"
#include "base/error.h"
#include "trace/event.h"

struct leaks;

struct leaks_total {
	const struct resource_class *resource;
	uint64_t count, bytes;
	bool is_estimate; /* count and bytes are of samples, which represent: */
	uint64_t all_count, all_bytes;
	double variance; /* of all_bytes */
	uint64_t error;	 /* of all_bytes: half the width of the 95 % interval */
};

/* with_arguments: keeps the arguments of calls that acquired held objects. */
void leaks_create(struct leaks **leaks, bool with_arguments);

/*
 * Before leaks_finish(): limits the results to objects held for that time at the end. The end is
 * the time of the last event, or until_ns if that is earlier (UINT64_MAX: no limit).
 */
void leaks_limit(struct leaks *leaks, uint64_t min_age_ns, uint64_t until_ns);

/* A call or a note. */
int leaks_event(struct leaks *leaks, const struct event *event, struct error *err);

/* After the last event: sorts the held objects by their calls. */
void leaks_finish(struct leaks *leaks, struct error *err);

size_t leaks_count(const struct leaks *leaks);

/* The i-th result; its arguments do not belong to the caller. */
void leaks_at(const struct leaks *leaks, size_t i, struct kept *kept);

/* Sums by class, in the order of the classes' first leaks; NULL after the last one. */
const struct leaks_total *leaks_total(const struct leaks *leaks, size_t i);

/* The sums of one class; zeros if nothing of it leaked. */
struct leaks_total leaks_total_of(const struct leaks *leaks, const struct resource_class *resource);

void leaks_destroy(struct leaks *leaks);

#endif
