/* SPDX-License-Identifier: MIT */
#ifndef RUN_HIGHS_H
#define RUN_HIGHS_H

/*
 * The most objects and bytes of each class that were live within steps of time, where that is more
 * than at the end of the step: what sums by steps (spans.h) do not show of a short peak. Steps
 * become longer as time goes on, like those of spans.
 */

#include "account/ledger.h"
#include "base/array.h"

enum highs_unit { HIGHS_COUNT, HIGHS_BYTES, HIGHS_UNITS };

/* A step in which a process acquired or released objects of a class. */
struct high {
	uint64_t step;
	uint32_t class, process;
	int64_t most[HIGHS_UNITS], end[HIGHS_UNITS]; /* end: live at the end of the step */
};

struct highs {
	unsigned shift;	      /* a step is 1 << shift ns */
	uint64_t first, last; /* steps in use; first > last: none yet */
	ARRAY_OF(struct high) list;
	/* of the current process, by class: its last entry + 1, or 0; and what is live */
	size_t newest[LEDGER_CLASSES];
	int64_t live[LEDGER_CLASSES][HIGHS_UNITS];
};

void highs_init(struct highs *highs);
void highs_free(struct highs *highs);

/* Events of another process follow. */
void highs_begin_process(struct highs *highs);

/* Objects of a class were acquired, or (negative numbers) released. */
void highs_change(struct highs *highs, uint32_t class, uint32_t process, uint64_t time_ns,
		  int64_t count, int64_t bytes);

/* The process released everything at that time, by executing another program. */
void highs_release(struct highs *highs, uint32_t process, uint64_t time_ns);

/* Makes steps that long, if they are shorter. */
void highs_widen(struct highs *highs, unsigned shift);

#endif
