/* SPDX-License-Identifier: MIT */
#ifndef RUN_HIGHS_H
#define RUN_HIGHS_H

/*
 * The maximum number of live objects and bytes of each class in each step of time. The sums of
 * spans.h give only the amounts at the ends of steps, so they do not show a short peak. When the
 * run gets longer, pairs of steps are merged, as in spans.h.
 */

#include "account/ledger.h"
#include "base/array.h"

enum highs_unit { HIGHS_COUNT, HIGHS_BYTES, HIGHS_UNITS };

/* A step in which a process acquired or released objects of a class. */
struct high {
	uint64_t step;
	uint32_t class, process;
	/* maximum in the step, and amount at its end */
	int64_t most[HIGHS_UNITS], end[HIGHS_UNITS];
};

struct highs {
	unsigned shift;	      /* a step is 1 << shift ns */
	uint64_t first, last; /* range of the steps in use; first > last: no step is used yet */
	ARRAY_OF(struct high) list;
	/*
	 * for each class, in the current process: index of its newest entry + 1 (0: none), and its
	 * live amount
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
 * Adds up, for each class and step, the maxima of all processes, and their amounts at the end of
 * the step. Returns an array with an element for each step from `first` to `last`, for each class;
 * the caller frees the array.
 */
struct high *highs_sum(const struct highs *highs);

#endif
