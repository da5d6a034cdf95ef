/* SPDX-License-Identifier: MIT */
#ifndef FINDINGS_FINDINGS_H
#define FINDINGS_FINDINGS_H

/*
 * What the sums of a run do not show: in which class something is unusual, and which report to read
 * next.
 */

#include "postproc/totals/summary.h"

/* The worst first. */
enum finding {
	FINDING_CLOSED,	 /* descriptors closed or used when they were not open */
	FINDING_LOST,	 /* unreachable blocks, if memory was scanned */
	FINDING_PEAK,	 /* the peak is far above the amount at the end */
	FINDING_SIGNALS, /* signals of conditions when no thread waited */
	FINDING_SHORT,	 /* objects released by the next call of the thread that acquired them */
	FINDINGS,
};

/* The class with the finding; NULL: the run does not have it. */
const struct summary_class *finding_class(const struct summary *summary, enum finding finding);

/* Objects held at the end, without those that the report leaks leaves out. */
struct findings_leaks {
	const struct summary_class *class; /* the class listed first; NULL: nothing is held */
	uint64_t blocks;		   /* of memory: the maximum of one call site */
};

/* The report on what does the most damage. */
const char *findings_report(const struct summary *summary, const struct findings_leaks *leaks);

/* How many of a finding's call sites are worth a line: at most max of them. */
size_t findings_places(const struct causes_top *top, enum finding finding, size_t most);

/* Whether the waits took a hundredth of the run, or a tenth of a second. */
bool findings_waits_long(const struct summary *summary, uint64_t waited_ns);

#endif
