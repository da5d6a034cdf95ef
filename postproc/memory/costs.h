/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_COSTS_H
#define MEMORY_COSTS_H

/*
 * All measures of each place of a run: acquired, held at the end, held at the peak, and for how
 * long. For formats that show several costs of one place; the numbers equal those of the reports
 * hot, leaks (without suppressions) and peak.
 */

#include "postproc/totals/peaks.h"
#include "postproc/report/report.h"

struct costs {
	struct report_run *run;
	struct peaks peaks;
	struct tally *tally;
};

struct costs_place {
	const struct tally_place *place;
	const struct ledger_class *class;
	struct peaks_amount acquired; /* calls, and their bytes */
	struct peaks_amount held;
	struct peaks_amount peak; /* at the peak of its class */
	struct peaks_amount most; /* the place's own maximum in one process */
	uint64_t held_ns;	  /* sum of the times for which its objects were held */
};

/* For begin() and process() of a report with wants_ledger. costs must not move until the end. */
void costs_begin(struct costs *costs, struct report_run *run);
void costs_process(struct costs *costs);

/* After the last process: the next place, starting with *at 0; false after the last. */
bool costs_next(const struct costs *costs, uint32_t *at, struct costs_place *place);

/* Time since the start of the run and amount of a class's peak; false: there was nothing. */
bool costs_peak(const struct costs *costs, uint32_t class, uint64_t *time_ns,
		struct peaks_amount *most);

/* Bytes if the class has them, else the number of objects. */
static inline uint64_t costs_weight(const struct costs_place *place, struct peaks_amount amount)
{
	return place->class->has_bytes ? amount.bytes : amount.count;
}

#endif
