/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_COSTS_H
#define MEMORY_COSTS_H

/*
 * All measures of each call site of a run: the amounts acquired, live at the end and live at the
 * peak, and the times for which objects were live. Formats that show several costs of a call site
 * use these measures. The numbers equal those of the reports `allocations`, `leaks` (without
 * suppressions) and `peak`.
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
	struct peaks_amount acquired; /* number of acquisitions, and their bytes */
	struct peaks_amount held;
	double held_variance;	  /* variance of the bytes that are live at the end; 0: exact */
	struct peaks_amount peak; /* live amount of the call site at the peak of the class */
	struct peaks_amount most; /* largest live amount of the call site in one process */
	uint64_t held_ns; /* sum of the times for which objects of the call site were live */
};

/*
 * Call these functions from begin() and process() of a fold with wants_ledger. `costs` must not be
 * moved in memory until the run has ended.
 */
void costs_begin(struct costs *costs, struct report_run *run);
void costs_process(struct costs *costs);

/*
 * Sets *place to the next call site, and advances *at. Set *at to 0 before the first call. Returns
 * false after the last call site. Call it after the last process.
 */
bool costs_next(const struct costs *costs, uint32_t *at, struct costs_place *place);

/*
 * Sets *time_ns to the time of a class's peak, since the start of the run, and *most to the amount
 * at that time. Returns false if no object of the class was ever live.
 */
bool costs_peak(const struct costs *costs, uint32_t class, uint64_t *time_ns,
		struct peaks_amount *most);

/* Returns the amount in bytes if objects of the class have bytes, else in objects. */
static inline uint64_t costs_weight(const struct costs_place *place, struct peaks_amount amount)
{
	return place->class->has_bytes ? amount.bytes : amount.count;
}

#endif
