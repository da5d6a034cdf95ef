/* SPDX-License-Identifier: MIT */
#ifndef GATE_JUDGE_H
#define GATE_JUDGE_H

/*
 * Whether a run keeps its limits: BROKEN and kept are said where they are sure. What the recording
 * did not see makes a limit unknown, unless nothing unseen could change the verdict.
 */

#include "baseline.h"
#include "account/limits.h"
#include "naming/paths.h"
#include "postproc/report/report.h"

struct judge {
	const struct limits *limits;
	const struct report_run *run;
	const struct baseline *baseline; /* what does not count; NULL: all counts */
	struct baseline *learned; /* what the run has is put in there; NULL: it is not wanted */
	bool is_so_far;		  /* about what still runs as it is by now: that is its end */
	bool is_empty;		  /* filters left no event */
	size_t unread;		  /* traces that could not be read, whole or in part */
	/* the result */
	size_t broken, unknown;
};

/*
 * Fills SHEET_limits, what is broken first, then what is unknown. The reports' sheets are looked
 * for in both; they need not be finished.
 */
void judge_limits(struct judge *judge, const struct sheets *one, const struct sheets *other,
		  struct sheet *sheet);

#endif
