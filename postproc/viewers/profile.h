/* SPDX-License-Identifier: MIT */
#ifndef VIEWERS_PROFILE_H
#define VIEWERS_PROFILE_H

/*
 * What formats of places have in common: a fold of the run by place and by wait, and its frames as
 * numbers. A format adds print() and a row of formats.def:
 *
 *   VIEWER_OF_PROFILE(pprof)     print(void *state, struct out *out, struct error *err) is above it
 */

#include "stacks.h"
#include "postproc/memory/costs.h"
#include "postproc/waits/lanes.h"
#include "postproc/waits/wait_sums.h"

/*
 * The costs of a sample. A class of resources has columns of its own, since bytes of memory and
 * bytes of mappings, or the peaks of two classes, add up to nothing that ever was. Those of memory
 * come first, by the names that every reader of pprof knows; then waits; then other classes.
 */
enum profile_cost {
	COST_ALLOC_OBJECTS,
	COST_ALLOC_SPACE,
	COST_INUSE_OBJECTS,
	COST_INUSE_SPACE,
	COST_PEAK_OBJECTS,
	COST_PEAK_SPACE,
	COST_CONTENTIONS,
	COST_DELAY,
	COST_OTHERS /* the first column of another class */
};

struct profile_column {
	char name[64];	  /* as in pprof: "inuse_space", "fd_inuse_objects" */
	const char *unit; /* pprof's */
	char title[64];	  /* as in callgrind: "LiveBytes", "FdLiveObjects" */
};

struct profile {
	struct report_run *run;
	struct costs costs;
	struct lanes lanes;
	struct wait_sums waits;
	struct stacks stacks;
	/* of a file: made by profile_columns() */
	ARRAY_OF(struct profile_column) columns;
	uint32_t first[LEDGER_CLASSES]; /* column of each class that has some */
	uint64_t *values;		/* columns.count of them */
};

/* Makes the columns of the classes that the run has. */
void profile_columns(struct profile *profile);

/* Their values, columns.count of them, until the next question. */
const uint64_t *profile_values(struct profile *profile, const struct costs_place *place);
const uint64_t *profile_wait_values(struct profile *profile, const struct wait_sum *wait);

int profile_begin(void *user, struct report_run *run, struct error *err);
void profile_event(void *state, const struct event *event);
void profile_note(void *state, const struct event *event);
void profile_process(void *state);
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
