/* SPDX-License-Identifier: MIT */
#ifndef VIEWERS_PROFILE_H
#define VIEWERS_PROFILE_H

/*
 * The common part of formats that show call sites: it folds the run by call site and by wait, and
 * numbers the frames. A format NAME adds NAME_print() and a row of formats.def:
 *
 * VIEWER_OF_PROFILE(pprof)     after pprof_print(void *state, struct out *out, struct error *err)
 */

#include "stacks.h"
#include "postproc/memory/costs.h"
#include "postproc/waits/lanes.h"
#include "postproc/waits/wait_sums.h"

/*
 * The costs of a sample. Each class of resources has columns of its own, since bytes of memory and
 * of mappings, or the peaks of two classes, have no meaningful sum. Columns of memory come first,
 * by the names that pprof's readers know; then waits; then other classes.
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
	COST_OTHERS /* the first column of other classes */
};

struct profile_column {
	char name[64];	  /* as in pprof: "inuse_space", "fd_open" */
	const char *unit; /* pprof's */
	char title[64];	  /* as in callgrind: "LiveBytes", "FdLiveObjects" */
};

struct profile {
	struct report_run *run;
	struct costs costs;
	struct lanes lanes;
	struct wait_sums waits;
	struct stacks stacks;
	/* set by profile_columns() */
	ARRAY_OF(struct profile_column) columns;
	uint32_t first[LEDGER_CLASSES]; /* by class: its first column, or 0 */
	uint64_t *values;		/* columns.count values */
};

/* Makes the columns of the classes that the run has. */
void profile_columns(struct profile *profile);

/* The columns.count values of a call site or wait, valid until the next call. */
const uint64_t *profile_values(struct profile *profile, const struct costs_place *place);
const uint64_t *profile_wait_values(struct profile *profile, const struct wait_sum *wait);

int profile_begin(void *user, struct report_run *run, struct error *err);
void profile_event(void *state, const struct event *event);
void profile_note(void *state, const struct event *event);
void profile_process(void *state);
void profile_destroy(void *state);

/* Requests all names, so that they are looked up together. */
void profile_expect(const struct profile *profile);

/* The command line of the first process, or its name. */
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
		.print = name##_print,                \
		.destroy = profile_destroy,           \
	}

#endif
