/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_LEAKS_H
#define MEMORY_LEAKS_H

/*
 * What is still held at the end, call by call, as -l lists it: a ledger for each process of a
 * trace, and in the end their items in the order of the calls that gained them.
 */

#include "account/keep.h"
#include "base/error.h"
#include "trace/event.h"

struct leaks;

struct leaks_total {
	const struct resource_class *resource;
	uint64_t count, bytes;
	bool is_estimate; /* these are of samples, which stand for: */
	uint64_t all_count, all_bytes;
	double variance; /* of all_bytes */
	uint64_t error;	 /* by which they may be wrong, in 95 of 100 cases no more */
};

/* with_arguments: the arguments of what is held are wanted, too. */
void leaks_create(struct leaks **leaks, bool with_arguments);

/*
 * Before leaks_finish(): results are only what was held for that long at the end, which is the
 * last event's time, or until_ns if that is earlier (UINT64_MAX: is not).
 */
void leaks_limit(struct leaks *leaks, uint64_t min_age_ns, uint64_t until_ns);

/* A call or a note. */
int leaks_event(struct leaks *leaks, const struct event *event, struct error *err);

/* After the last event: puts what is held in the order of its calls. */
void leaks_finish(struct leaks *leaks, struct error *err);

size_t leaks_count(const struct leaks *leaks);

/* The i-th of them; its arguments are not the caller's. */
void leaks_at(const struct leaks *leaks, size_t i, struct kept *kept);

/* Sums by class, in order of the classes' first leaks; NULL after the last one. */
const struct leaks_total *leaks_total(const struct leaks *leaks, size_t i);

/* Of one class; zeros if nothing of it leaked. */
struct leaks_total leaks_total_of(const struct leaks *leaks, const struct resource_class *resource);

void leaks_destroy(struct leaks *leaks);

#endif
