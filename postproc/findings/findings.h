/* SPDX-License-Identifier: MIT */
#ifndef FINDINGS_FINDINGS_H
#define FINDINGS_FINDINGS_H

/* Finds unusual numbers in the summary of a run, and suggests the report to read next. */

#include "postproc/totals/summary.h"

/* Kinds of findings, the worst first. */
enum finding {
	FINDING_CLOSED,	 /* descriptors closed or used when they were not open */
	FINDING_LOST,	 /* unreachable blocks, if memory was scanned */
	FINDING_PEAK,	 /* the peak is far above the amount at the end */
	FINDING_SIGNALS, /* signals of conditions when no thread waited */
	FINDING_SHORT,	 /* objects that a thread released in its next call after acquiring them */
	FINDINGS,
};

/* The class with this finding; NULL: the run has no such finding. */
const struct summary_class *finding_class(const struct summary *summary, enum finding finding);

/* Facts about the objects that are live at the end and not suppressed. */
struct findings_leaks {
	/* the class of the first row in the list of live objects; NULL: no row */
	const struct summary_class *class;
	uint64_t blocks; /* the largest number of blocks from one call site */
};

/* Kinds of problems that a run can have. */
enum findings_kind {
	FINDINGS_DEADLOCK,
	FINDINGS_HANG,	/* a wait kept the program from ending */
	FINDINGS_WRONG, /* an unusual number: see enum finding */
	FINDINGS_WAITS,
	FINDINGS_LIVE, /* objects are live at exit */
	FINDINGS_MISSING,
};

struct findings_item {
	enum findings_kind kind;
	enum finding finding;		   /* the unusual number, for FINDINGS_WRONG */
	const struct summary_class *class; /* NULL: the problem is about no class */
	const char *report;		   /* the report that shows more */
};

#define FINDINGS_ITEMS 16

/* Lists the problems, the most harmful first. Returns their number, at most FINDINGS_ITEMS. */
size_t findings_list(const struct summary *summary, const struct findings_leaks *leaks,
		     struct findings_item *items);

/* Returns the name of the report on the most harmful problem, perhaps followed by --table=NAMES. */
const char *findings_report(const struct summary *summary, const struct findings_leaks *leaks);

/* How many of a finding's call sites are worth showing, at most `most`. */
size_t findings_places(const struct causes_top *top, enum finding finding, size_t most);

/*
 * Whether waits took at least a tenth of a second, or at least a hundredth of the time of the run.
 */
bool findings_waits_long(const struct summary *summary, uint64_t waited_ns);

#endif
