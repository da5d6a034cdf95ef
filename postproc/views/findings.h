/* SPDX-License-Identifier: MIT */
#ifndef FINDINGS_H
#define FINDINGS_H

/* What no sum of a run shows: of which class something is unusual, and what to ask next. */

#include "postproc/views/summary.h"

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

/*
 * The report that tells more of what matters most. has_no_leaks: the report leaks leaves out all
 * that is held.
 */
const char *findings_report(const struct summary *summary, bool has_no_leaks);

/* Of the places of a finding, those that are worth a line: at most so many. */
size_t findings_places(const struct causes_top *top, enum finding finding, size_t most);

/* Worth a look: a hundredth of the run, or a tenth of a second. */
bool findings_waits_long(const struct summary *summary, uint64_t waited_ns);

#endif
