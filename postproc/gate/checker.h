/* SPDX-License-Identifier: MIT */
#ifndef GATE_CHECKER_H
#define GATE_CHECKER_H

/*
 * Checks whether a run keeps its limits. The result of a limit is broken or kept only if this is
 * certain; if the recording missed events that could change the result, it is unknown.
 */

#include "baseline.h"
#include "account/limits.h"
#include "naming/paths.h"
#include "postproc/gate/verdicts.h"
#include "postproc/report/report.h"

struct judge {
	const struct limits *limits;
	const struct report_run *run;
	const struct baseline *baseline; /* numbers to subtract; NULL: no baseline */
	/* gets the numbers of the run, for a baseline; NULL: not wanted */
	struct baseline *learned;
	struct verdicts *verdicts; /* gets the verdicts and their call sites; NULL: not wanted */
	bool is_so_far; /* the run is still going on: its present state is taken as its end */
	bool is_empty;	/* the filters removed all events */
	const struct tables *one, *other; /* tables to look values up in; set by judge_limits() */
	/* the result: how many limits are broken, and how many are unknown */
	size_t broken, unknown;
};

/*
 * Fills TABLE_limits: broken limits first, then unknown ones, then kept ones. The values are looked
 * up in `one` and then in `other`. tables_finish() may be called for these tables later.
 */
void judge_limits(struct judge *judge, const struct tables *one, const struct tables *other,
		  struct table *table);

#endif
