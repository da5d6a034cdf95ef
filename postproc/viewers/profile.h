/* SPDX-License-Identifier: MIT */
#ifndef VIEWERS_PROFILE_H
#define VIEWERS_PROFILE_H

/*
 * The common part of the file formats that show call sites. It adds up costs by call site, adds up
 * waits by waiter and waker, and numbers the frames. To add a format NAME, add a row to
 * formats.def, write NAME_print(), and put VIEWER_OF_PROFILE(NAME) after it:
 *
 * VIEWER_OF_PROFILE(pprof) after pprof_print(void *state, struct out *out, struct error *err)
 */

#include "base/array.h"
#include "base/hash_table.h"
#include "base/pool.h"
#include "stacks.h"
#include "postproc/memory/costs.h"
#include "postproc/waits/lanes.h"

/* Sums of the waits of a run, by kind, call site of the waiter, and call site of the waker. */
struct wait_sum {
	enum lane_kind kind;
	const struct trace_node *waiter, *waker; /* call sites; waker NULL: unknown */
	const char *function;
	uint64_t count, ns, longest_ns;
};

struct wait_sums {
	struct pool pool;
	struct hash_table table;
	ARRAY_OF(struct wait_sum *) list; /* sums in the order of their first waits */
};

/*
 * The columns of a sample. Each class of resources has separate columns, because adding bytes of
 * memory to bytes of mappings, or the peaks of two classes, gives no meaningful sum. The columns of
 * memory come first, with the names that pprof itself uses, then waits, then other classes.
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
	char name[64];	  /* name in pprof: "inuse_space", "fd_open" */
	const char *unit; /* unit in pprof */
	char title[64];	  /* title in callgrind: "LiveBytes", "FdLiveObjects" */
};

struct profile {
	struct report_run *run;
	struct costs costs;
	struct lanes lanes;
	struct wait_sums waits;
	struct stacks stacks;
	/* set by profile_columns() */
	ARRAY_OF(struct profile_column) columns;
	uint32_t first[LEDGER_CLASSES]; /* indexed by class: index of its first column, or 0 */
	/* the values of the current sample: columns.count numbers */
	uint64_t *values;
};

/* Makes the columns of memory, of waits, and of the other classes that occur in the run. */
void profile_columns(struct profile *profile);

/* Return the values of a call site or of a wait, one for each column, valid until the next call. */
const uint64_t *profile_values(struct profile *profile, const struct costs_place *place);
const uint64_t *profile_wait_values(struct profile *profile, const struct wait_sum *wait);

int profile_begin(void *user, struct report_run *run, struct error *err);
void profile_event(void *state, const struct event *event);
void profile_note(void *state, const struct event *event);
void profile_process(void *state);
void profile_destroy(void *state);

/* Announces all backtraces to naming_expect(), so that their names are looked up together. */
void profile_expect(const struct profile *profile);

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
