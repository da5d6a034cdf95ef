/* SPDX-License-Identifier: MIT */
#ifndef RUN_HIGHS_H
#define RUN_HIGHS_H

/*
 * The maximum number of live objects and bytes of each class in each step of time. The sums in
 * spans.h have only the amounts at the ends of steps, so they miss short peaks. When the run gets
 * longer, pairs of steps are merged, as in spans.h.
 */

#include "account/ledger.h"
#include "base/array.h"

enum highs_unit { HIGHS_COUNT, HIGHS_BYTES, HIGHS_UNITS };

/* A step in which a process acquired or released objects of a class. */
struct high {
	uint64_t step;
	uint32_t class, process;
	/* live objects and bytes: the maximum in the step, and the amount at its end */
	int64_t most[HIGHS_UNITS], end[HIGHS_UNITS];
};

struct highs {
	unsigned shift;	      /* a step is 1 << shift ns */
	uint64_t first, last; /* range of the steps in use; first > last: none yet */
	ARRAY_OF(struct high) list;
	/*
	 * for each class in the current process: index of the newest entry + 1 (0: no entry), and
	 * the live objects and bytes
	 */
	size_t newest[LEDGER_CLASSES];
	int64_t live[LEDGER_CLASSES][HIGHS_UNITS];
};

void highs_init(struct highs *highs);
void highs_free(struct highs *highs);

/* Resets the live amounts. Call it before the first event of each process. */
void highs_begin_process(struct highs *highs);

/* Adds objects of a class that were acquired or, with negative numbers, released at time_ns. */
void highs_change(struct highs *highs, uint32_t class, uint32_t process, uint64_t time_ns,
		  int64_t count, int64_t bytes);

/* Releases all objects of the process, which ended or executed another program at time_ns. */
void highs_release(struct highs *highs, uint32_t process, uint64_t time_ns);

/*
 * For each class and step, adds up the maxima of all processes, and their amounts at the end of the
 * step. Returns an array of classes, each with an element for every step from `first` to `last`.
 * The caller frees the array.
 */
struct high *highs_sum(const struct highs *highs);

#endif
