/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_MEASURE_H
#define MEMORY_MEASURE_H

/* Sums by call site, for reports whose measure (bytes, count ...) --by selects. */

#include "base/error.h"
#include "postproc/report/report.h"

enum measure_kind {
	MEASURE_BYTES, /* bytes acquired, whether or not they were released */
	MEASURE_COUNT, /* number of acquisitions */
	MEASURE_HELD,  /* bytes or objects that are live at the end */
	/* bytes or objects that were live at the peak of the class; not for comparisons */
	MEASURE_PEAK,
	/* bytes or objects of temporary allocations (see temporary.c) */
	MEASURE_TEMP,
	MEASURE_HOLD, /* time for which locks were held */
	MEASURE_WAIT, /* time spent in calls that may wait */
};

/* A call site and its sums in bytes, ns or objects. */
struct measure_place {
	const char *class;
	uint32_t rank; /* position of the class in reports */
	bool has_bytes, has_ns;
	const struct trace_node *backtrace;
	const char *function; /* the hooked function of the first call at this call site */
	/* index 0: in the run; 1: in the older run of a comparison (diff) */
	uint64_t amount[2], count[2];
	double variance[2]; /* variance of the amounts; 0: the amount is exact */
	uint64_t sample[2]; /* sampling interval in bytes; 0: all blocks were recorded */
};

struct measure;

/* A fold with a measure begins its state with this struct. */
struct measured {
	struct report_run *run;
	struct measure *measure;
};

/*
 * Makes a measure from run->options->by, or from `fallback` if `by` is NULL, and registers it with
 * run->ledger. has_base: two runs are compared, so MEASURE_PEAK is refused. Returns 0 or -EINVAL.
 */
int measure_begin(struct measure **measure, struct report_run *run, enum measure_kind fallback,
		  bool has_base, struct error *err);

/* The callbacks event() and process() of a fold whose state begins with a struct measured. */
void measure_event(void *state, const struct event *event);
void measure_process(void *state);

/*
 * Sets *place to the next call site, and advances *at. Set *at to 0 before the first call. Returns
 * false after the last call site. Call it after the last process.
 */
bool measure_next(const struct measure *measure, size_t *at, struct measure_place *place);

/* The error of place->amount[run]. With sampling, the error of an amount of 0 is not 0. */
uint64_t measure_error(const struct measure_place *place, int run);

enum measure_kind measure_kind(const struct measure *measure);
const char *measure_word(enum measure_kind kind);

void measure_free(struct measure *measure);

#endif
