/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_MEASURE_H
#define MEMORY_MEASURE_H

/*
 * What the places of a program amount to, by one of several measures, of which --by takes one: for
 * reports that look at places in more than one way.
 */

#include "base/error.h"
#include "postproc/report/report.h"

enum measure_kind {
	MEASURE_BYTES, /* that were gained, given back or not */
	MEASURE_COUNT, /* of gains */
	MEASURE_HELD,  /* at the end, bytes or objects */
	MEASURE_PEAK,  /* when most of the class was held; of one run alone */
	MEASURE_TEMP,  /* given back by the thread's next call, bytes or objects */
	MEASURE_HOLD,  /* time for which locks were had */
	MEASURE_WAIT,  /* time in calls that may wait */
};

/* A place and what it amounts to: bytes, ns or a number. */
struct measure_place {
	const char *class;
	uint32_t rank; /* of the class */
	bool has_bytes, has_ns;
	const struct trace_node *backtrace;
	const char *function;	      /* of its first call */
	uint64_t amount[2], count[2]; /* [1]: of what the run is compared with */
	double variance[2];	      /* of the amounts; 0: they are exact */
	uint64_t sample[2];	      /* of its class: ledger_sample(); 0: all was recorded */
};

struct measure;

/* by: its word, or NULL for fallback. has_base: two runs are compared, whose peaks are not. Returns
 * 0 or -EINVAL; run->ledger hears of it. */
int measure_begin(struct measure **measure, struct report_run *run, enum measure_kind fallback,
		  bool has_base, struct error *err);

/* A call; a process has ended. */
void measure_event(struct measure *measure, const struct event *event);
void measure_process(struct measure *measure);

/* After the last process: the next place behind *at (0 at first); false after the last. */
bool measure_next(const struct measure *measure, size_t *at, struct measure_place *place);

/* By how much the amount in the run may be wrong, which is also known where there is none. */
uint64_t measure_error(const struct measure_place *place, int run);

enum measure_kind measure_kind(const struct measure *measure);
const char *measure_word(enum measure_kind kind);

void measure_free(struct measure *measure);

#endif
