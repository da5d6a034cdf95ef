/* SPDX-License-Identifier: MIT */
#ifndef SETS_H
#define SETS_H

/*
 * Reports on a set of runs: the tables of the runs, joined by call site. Numbers are added up. Each
 * row also has the number of runs that have the row, the median and the largest value of these
 * runs, and the run with the largest value.
 */

#include "report_plan.h"

/*
 * Whether the requested reports can be about a set of runs: their rows can be joined, and no option
 * needs a single run. If not, the caller reads the processes of all runs as one run.
 */
bool sets_can_report(const struct report_plan *plan, const struct options *options);

/* Sets plan->runs and plan->old_runs to the runs of the traces. Returns 0 or a negative errno. */
int sets_find(struct report_plan *plan, struct error *err);

/* Prints the reports on all runs of plan->runs. reporting() does the same for one run. */
int sets_report(const struct report_plan *plan, struct out *out, struct reporting_result *result,
		struct error *err);

#endif
