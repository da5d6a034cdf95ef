/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_COSTS_H
#define MEMORY_COSTS_H

/*
 * What each place of a run amounts to in every way at once: gained, held at the end, held when most
 * was held, for how long. For formats that show several costs of one place; the numbers are those
 * of the reports hot, leaks (without suppressions) and peak.
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
	struct peaks_amount gained; /* calls, and their bytes */
	struct peaks_amount held;
	struct peaks_amount peak; /* of its class: what it had then */
	struct peaks_amount most; /* that it had itself at one time, in one process */
	uint64_t held_ns;	  /* for how long its objects were held, all together */
};

/* For begin() and process() of a report with wants_ledger. costs does not move until the end. */
void costs_begin(struct costs *costs, struct report_run *run);
void costs_process(struct costs *costs);

/* After the last process: the next place behind *at (0 at first); false after the last. */
bool costs_next(const struct costs *costs, uint32_t *at, struct costs_place *place);

/* When most was held of the class, since the start of the run, and how much; false: never any. */
bool costs_peak(const struct costs *costs, uint32_t class, uint64_t *time_ns,
		struct peaks_amount *most);

/* The bytes of a class whose objects take some, else the number. */
static inline uint64_t costs_weight(const struct costs_place *place, struct peaks_amount amount)
{
	return place->class->has_bytes ? amount.bytes : amount.count;
}

#endif
