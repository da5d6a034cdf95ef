/* SPDX-License-Identifier: MIT */
#ifndef GATE_CHECKER_H
#define GATE_CHECKER_H

/*
 * Whether a run keeps its limits: the result is BROKEN or kept only if that is certain. If the
 * recording missed events that could change the result, the limit is unknown.
 */

#include "baseline.h"
#include "account/limits.h"
#include "naming/paths.h"
#include "postproc/report/report.h"

struct judge {
	const struct limits *limits;
	const struct report_run *run;
	const struct baseline *baseline; /* call sites that do not count; NULL: all count */
	struct baseline *learned;	 /* gets the numbers of the run; NULL: not wanted */
	bool is_so_far; /* the run is still going on: its state now counts as its end */
	bool is_empty;	/* filters left no event */
	size_t unread;	/* traces that could not be read, completely or in part */
	/* the result */
	size_t broken, unknown;
};

/*
 * Fills TABLE_limits: broken limits first, then unknown ones. The values are looked up in the
 * tables of both one and other, which need not be finished.
 */
void judge_limits(struct judge *judge, const struct tables *one, const struct tables *other,
		  struct table *table);

#endif
