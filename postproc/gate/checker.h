/* SPDX-License-Identifier: MIT */
#ifndef GATE_CHECKER_H
#define GATE_CHECKER_H

/*
 * Checks whether a run stays within its limits. A limit is reported as broken or kept only if this
 * is certain. If events that could change the result were not recorded, the limit is reported as
 * unknown.
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
	/* a new baseline, to which the numbers of the run are added; NULL: not wanted */
	struct baseline *learned;
	/* the verdicts and their call sites are added here; NULL: not wanted */
	struct verdicts *verdicts;
	bool is_so_far; /* the run has not ended: its present state counts as its end */
	bool is_empty;	/* the filters removed all events */
	/* tables that contain the values; set by judge_limits() */
	const struct tables *one, *other;
	/* the result: how many limits are broken, and how many are unknown */
	size_t broken, unknown;
};

/*
 * Fills TABLE_limits (`table`): broken limits first, then unknown limits, then kept limits. Looks
 * up the values in `one` and then in `other`. Call tables_finish() for these tables only later.
 */
void judge_limits(struct judge *judge, const struct tables *one, const struct tables *other,
		  struct table *table);

#endif
