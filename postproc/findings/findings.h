/* SPDX-License-Identifier: MIT */
#ifndef FINDINGS_FINDINGS_H
#define FINDINGS_FINDINGS_H

/* What no sum of a run shows: of which class something is unusual, and what to ask next. */

#include "postproc/totals/summary.h"

/* The worst first. */
enum finding {
	FINDING_CLOSED,	 /* closed or used when it was not open */
	FINDING_LOST,	 /* blocks that nobody keeps, where memory was scanned */
	FINDING_PEAK,	 /* the most that was held is far above what is left */
	FINDING_SIGNALS, /* conditions were signalled when nobody waited */
	FINDING_SHORT,	 /* given back by the next call of the thread that gained it */
	FINDINGS,
};

/* The class that it is about, or NULL: it is not so. */
const struct summary_class *finding_class(const struct summary *summary, enum finding finding);

/* What is held at the end, but for what the report leaks leaves out. */
struct findings_leaks {
	const struct summary_class *class; /* of what comes first; NULL: nothing is held */
	uint64_t blocks;		   /* of memory: most of one call site */
};

/* The report that says more of what does most damage. */
const char *findings_report(const struct summary *summary, const struct findings_leaks *leaks);

/* Of the places of a finding, those that are worth a line: at most so many. */
size_t findings_places(const struct causes_top *top, enum finding finding, size_t most);

/* Worth a look: a hundredth of the run, or a tenth of a second. */
bool findings_waits_long(const struct summary *summary, uint64_t waited_ns);

#endif
