/* SPDX-License-Identifier: MIT */
#ifndef VIEWERS_PROFILE_H
#define VIEWERS_PROFILE_H

/*
 * What formats of places have in common: a fold of the run by place and by wait, and its frames as
 * numbers. A format adds print() and a row of formats.def:
 *
 *   VIEWER_OF_PROFILE(pprof)     print(void *state, struct out *out, struct error *err) is above it
 */

#include "postproc/viewers/stacks.h"
#include "postproc/views/costs.h"
#include "postproc/views/lanes.h"
#include "postproc/views/wait_sums.h"

/*
 * The costs of a sample: as pprof calls them and in its unit, as callgrind does. The first four are
 * known to every reader of pprof by these names in this order.
 */
#define PROFILE_COSTS(_)                           \
	_(alloc_objects, "count", "GainedObjects") \
	_(alloc_space, "bytes", "GainedBytes")     \
	_(inuse_objects, "count", "HeldObjects")   \
	_(inuse_space, "bytes", "HeldBytes")       \
	_(peak_objects, "count", "PeakObjects")    \
	_(peak_space, "bytes", "PeakBytes")        \
	_(contentions, "count", "Waits")           \
	_(delay, "nanoseconds", "WaitedNs")

enum profile_cost {
#define COST(name, unit, long_name) COST_##name,
	PROFILE_COSTS(COST)
#undef COST
		COST_COUNT
};

/* Their values, COST_COUNT of them. */
void profile_values(const struct costs_place *place, uint64_t *values);
void profile_wait_values(const struct wait_sum *wait, uint64_t *values);

struct profile {
	struct report_run *run;
	struct costs costs;
	struct lanes lanes;
	struct wait_sums waits;
	struct stacks stacks;
};

int profile_begin(void *user, struct report_run *run, struct error *err);
int profile_event(void *state, const struct event *event, struct error *err);
int profile_note(void *state, const struct event *event, struct error *err);
int profile_process(void *state, struct error *err);
void profile_destroy(void *state);

/* Before names are asked for: they are looked up together. */
void profile_expect(const struct profile *profile);

/* "holdtrace, program and its arguments" of the first process. */
const char *profile_command(const struct profile *profile);

#define VIEWER_OF_PROFILE(name)                       \
	const struct report viewer_##name = {         \
		.wants_ledger = true,                 \
		.wants_summary = true,                \
		.state_size = sizeof(struct profile), \
		.begin = profile_begin,               \
		.event = profile_event,               \
		.note = profile_note,                 \
		.process = profile_process,           \
		.print = print,                       \
		.destroy = profile_destroy,           \
	}

#endif
