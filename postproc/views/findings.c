/* SPDX-License-Identifier: MIT */
#include "postproc/views/findings.h"

#define PEAK_BYTES  1000000u /* more than is held: less is nobody's trouble */
#define PEAK_TIMES  4u
#define BLOCKS_MIN  1000u
#define SIGNALS_MIN 10u
#define TEMPS_MANY  100000u /* more trouble than a little that is held */

static const struct summary_class *closed_twice(const struct summary *summary)
{
	static const enum resource classes[] = { RESOURCE_FD, RESOURCE_FILE, RESOURCE_DIRECTORY };

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
		const struct summary_class *class = summary_class_of(summary, classes[i]);

		if (class && class->bad_closes + class->bad_uses)
			return class;
	}
	return NULL;
}

static const struct summary_class *lost_blocks(const struct summary *summary)
{
	const struct summary_class *class = summary_class_of(summary, RESOURCE_MEMORY);

	return class && class->unkept ? class : NULL;
}

/* The most that was held is far above what is left. */
static const struct summary_class *high_peak(const struct summary *summary)
{
	const struct summary_class *class = summary_class_of(summary, RESOURCE_MEMORY);

	return class && class->peak.amount >= class->held_bytes + PEAK_BYTES &&
			       class->peak.amount / PEAK_TIMES >= class->held_bytes
		       ? class
		       : NULL;
}

/* Where nobody ever waits, as in a library made for threads in a program of one, none is missed. */
static const struct summary_class *vain_signals(const struct summary *summary)
{
	const struct summary_class *class = summary_class_of(summary, RESOURCE_CONDITION);

	return class && class->waits.calls && class->vain >= SIGNALS_MIN &&
			       class->vain >= class->notified / 2
		       ? class
		       : NULL;
}

static const struct summary_class *short_lived(const struct summary *summary)
{
	const struct summary_class *class = summary_class_of(summary, RESOURCE_MEMORY);

	return class && class->temporary >= BLOCKS_MIN && class->temporary >= class->gained / 2
		       ? class
		       : NULL;
}

static const struct {
	const char *report;
	const struct summary_class *(*find)(const struct summary *summary);
} findings[FINDINGS] = {
	[FINDING_CLOSED] = { "fds", closed_twice }, [FINDING_LOST] = { "leaks", lost_blocks },
	[FINDING_PEAK] = { "peak", high_peak },	    [FINDING_SIGNALS] = { "conds", vain_signals },
	[FINDING_SHORT] = { "temp", short_lived },
};

const struct summary_class *finding_class(const struct summary *summary, enum finding finding)
{
	return findings[finding].find(summary);
}

/* ---- what to ask next ---- */

/* As long as a tenth of the run, for all threads together: worth a look before what is held. */
static bool are_locks_slow(const struct summary *summary)
{
	const struct summary_class *locks = summary_class_of(summary, RESOURCE_LOCK);
	uint64_t length_ns = summary->end_ns - summary->start_ns;

	return locks &&
	       waits_ns(&locks->waits.times, waits_threshold(&locks->waits)) > length_ns / 10;
}

/*
 * What is forgotten is a fault, what is freed at once is wasteful: it has to be much. A signal that
 * nobody waits for costs some nanoseconds; where a wait has missed one, this was said before.
 */
static bool is_less_than_leaks(const struct summary *summary, enum finding finding)
{
	const struct summary_class *leaked = &summary->classes[summary->sites.items[0].class];

	if (finding == FINDING_SIGNALS)
		return true;
	return finding == FINDING_SHORT &&
	       (finding_class(summary, finding)->temporary < TEMPS_MANY ||
		leaked->known != RESOURCE_MEMORY || leaked->held_bytes >= PEAK_BYTES);
}

static const char *report_of_worst(const struct summary *summary, bool has_no_leaks)
{
	for (enum finding i = 0; i < FINDINGS; i++)
		if (finding_class(summary, i) && (has_no_leaks || !is_less_than_leaks(summary, i)))
			return findings[i].report;
	return NULL;
}

const char *findings_report(const struct summary *summary, bool has_no_leaks)
{
	const char *worst = report_of_worst(summary, has_no_leaks);

	if (summary->deadlocked || are_locks_slow(summary))
		return "locks";
	if (summary->lost_wakeups)
		return "conds";
	if (worst)
		return worst;
	if (summary->bypasses.count)
		return "missing"; /* it names them, and without them no leak is certain */
	if (has_no_leaks)
		return "hot";
	return summary->classes[summary->sites.items[0].class].known == RESOURCE_FD ? "fds"
										    : "leaks";
}

/* ---- what is worth a line ---- */

/* It made no peak; a few of many are nobody's trouble. */
static bool is_little(const struct causes_top *top, size_t i, enum finding finding)
{
	if (finding == FINDING_PEAK)
		return top->places[i].bytes < top->places[0].bytes / 100;
	return i && top->places[i].count < top->places[0].count / 10;
}

size_t findings_places(const struct causes_top *top, enum finding finding, size_t most)
{
	size_t count = 0;

	while (count < top->count && count < most && !is_little(top, count, finding))
		count++;
	return count;
}

bool findings_waits_long(const struct summary *summary, uint64_t waited_ns)
{
	return waited_ns >= 100000000 || waited_ns >= (summary->end_ns - summary->start_ns) / 100;
}
