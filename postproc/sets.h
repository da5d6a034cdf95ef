/* SPDX-License-Identifier: MIT */
#ifndef SETS_H
#define SETS_H

/*
 * Reports on a set of runs: the tables of the runs, joined by call site. Numbers are added up, and
 * each row has the number of runs that have it, their median, the largest, and its run.
 */

#include "report_plan.h"

/*
 * Whether the requested reports can be about a set: their rows can be joined, and no option is for
 * one run alone. If they cannot, all processes of the runs are read as those of one run.
 */
bool sets_can_report(const struct report_plan *plan, const struct options *options);

/* Sets plan->runs and plan->old_runs: the runs of the traces. Returns 0 or a negative errno. */
int sets_find(struct report_plan *plan, struct error *err);

/* Prints the reports on plan->runs, as reporting() prints those on one run. */
int sets_report(const struct report_plan *plan, struct out *out, struct reporting_result *result,
		struct error *err);

#endif
