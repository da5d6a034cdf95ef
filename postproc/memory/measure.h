/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_MEASURE_H
#define MEMORY_MEASURE_H

/*
 * The sums of call sites by one of several measures, which --by selects: for reports that support
 * more than one.
 */

#include "base/error.h"
#include "postproc/report/report.h"

enum measure_kind {
	MEASURE_BYTES, /* acquired, released or not */
	MEASURE_COUNT, /* number of acquisitions */
	MEASURE_HELD,  /* at the end, bytes or objects */
	MEASURE_PEAK,  /* at the peak of the class; of one run only */
	MEASURE_TEMP,  /* released by the thread's next call: bytes or objects */
	MEASURE_HOLD,  /* time for which locks were held */
	MEASURE_WAIT,  /* time in calls that may wait */
};

/* A place and its sum: bytes, ns or a number. */
struct measure_place {
	const char *class;
	uint32_t rank; /* of the class */
	bool has_bytes, has_ns;
	const struct trace_node *backtrace;
	const char *function;	      /* of its first call */
	uint64_t amount[2], count[2]; /* [1]: of the run to compare with */
	double variance[2];	      /* of the amounts; 0: exact */
	uint64_t sample[2];	      /* of its class: ledger_sample(); 0: no sampling */
};

struct measure;

/*
 * by: the word of --by, or NULL for fallback. has_base: two runs are compared; peaks are refused.
 * Registers with run->ledger. Returns 0 or -EINVAL.
 */
int measure_begin(struct measure **measure, struct report_run *run, enum measure_kind fallback,
		  bool has_base, struct error *err);

/* A call; the end of a process. */
void measure_event(struct measure *measure, const struct event *event);
void measure_process(struct measure *measure);

/* After the last process: the next place, starting with *at 0; false after the last. */
bool measure_next(const struct measure *measure, size_t *at, struct measure_place *place);

/* By how much the amount in a run may be wrong; known even if the amount is 0. */
uint64_t measure_error(const struct measure_place *place, int run);

enum measure_kind measure_kind(const struct measure *measure);
const char *measure_word(enum measure_kind kind);

void measure_free(struct measure *measure);

#endif
