/* SPDX-License-Identifier: MIT */
#include "findings.h"

#include "images.h"

/*
 * the peak of memory is reported if it is at least PEAK_BYTES above the amount at the end, and at
 * least PEAK_TIMES times that amount
 */
#define PEAK_BYTES   1000000u
#define PEAK_TIMES   4u
#define BLOCKS_MIN   1000u
#define SIGNALS_MIN  10u
#define TEMPS_MANY   100000u /* this many temporary blocks are worse than a small leak */
#define PILE_OBJECTS 10u
#define PILE_BLOCKS  100u

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

/*
 * Returns the class of memory if its peak is reported (see PEAK_BYTES and PEAK_TIMES), else NULL.
 */
static const struct summary_class *high_peak(const struct summary *summary)
{
	const struct summary_class *class = summary_class_of(summary, RESOURCE_MEMORY);

	return class && class->peak.amount >= class->held_bytes + PEAK_BYTES &&
			       class->peak.amount / PEAK_TIMES >= class->held_bytes
		       ? class
		       : NULL;
}

/*
 * Returns the class of conditions if many signals had no waiter. Returns NULL if there were few, or
 * if no thread ever waits for a condition, as in a program with one thread whose libraries signal
 * conditions.
 */
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

	return class && class->temporary >= BLOCKS_MIN && class->temporary >= class->acquired / 2
		       ? class
		       : NULL;
}

static const struct {
	const char *report;
	const struct summary_class *(*find)(const struct summary *summary);
} findings[FINDINGS] = {
	[FINDING_CLOSED] = { "fds", closed_twice },
	[FINDING_LOST] = { "leaks", lost_blocks },
	[FINDING_PEAK] = { "peak", high_peak },
	[FINDING_SIGNALS] = { "waits --table=signals", vain_signals },
	[FINDING_SHORT] = { "allocations --table=temporary", short_lived },
};

const struct summary_class *finding_class(const struct summary *summary, enum finding finding)
{
	return findings[finding].find(summary);
}

/* ---- the report to read next ---- */

/*
 * The order of the problems, the most harmful first:
 *
 *   1. waits that keep the program from ending
 *   2. misused descriptors and unreachable blocks
 *   3. waits whose sum is longer than the run
 *   4. many live threads, descriptors or child processes
 *   5. waits whose sum is longer than a tenth of the run
 *   6. peaks, signals and temporary blocks that matter more than the live objects
 *   7. libraries that were not recorded, the other live objects, the other findings
 */

/*
 * Returns the report on a wait that kept the program from ending: a deadlock, a lost wakeup or, if
 * the program was killed, a wait of its main thread.
 */
static const char *report_of_hang(const struct summary *summary)
{
	bool is_kept = false;

	if (summary->deadlocked)
		return "waits";
	if (summary->lost_wakeups)
		return "waits --table=cond_waits,signals";
	if (images_last(summary)->end != SUMMARY_KILLED)
		return NULL;
	for (size_t i = 0; i < summary->blocked.count; i++)
		is_kept |= summary->blocked.items[i].thread == summary->blocked.items[i].pid;
	for (size_t i = 0; is_kept && i < summary->blocked.count; i++) {
		enum resource waited = summary->blocked.items[i].resource;

		if (waited == RESOURCE_LOCK || waited == RESOURCE_RWLOCK)
			return "waits";
		if (waited == RESOURCE_SEMAPHORE)
			return "waits --table=sem_waits,posts";
		if (waited == RESOURCE_CONDITION)
			return "waits --table=cond_waits,signals";
		if (waited == RESOURCE_FUTEX)
			return "waits --table=futex_waits";
		/* a program with an idle event loop may have been killed because it was idle */
		if ((waited == RESOURCE_CALL || waited == RESOURCE_FD ||
		     waited == RESOURCE_PROCESS) &&
		    !summary->called.idle)
			return "waits --table=call_waits";
	}
	return NULL;
}

static uint64_t waited_for(const struct summary *summary, enum resource resource)
{
	const struct summary_class *class = summary_class_of(summary, resource);

	if (!class)
		return 0;
	/*
	 * if several threads wait at the end, assume that they are idle threads of a pool, whose
	 * waits delay nothing
	 */
	for (size_t i = 0; resource != RESOURCE_LOCK && i < summary->blocked.count; i++)
		if (summary->blocked.items[i].resource == resource &&
		    summary->blocked.items[i].threads > 1)
			return 0;
	return waits_ns(&class->waits.times, waits_threshold(&class->waits));
}

/*
 * Whether a finding matters less than the leaks. Temporary blocks only cost time, so they matter
 * more only if there are many. A signal without a waiter costs some nanoseconds; if a wait missed
 * the signal, report_of_hang() has reported it.
 */
static bool is_less_than_leaks(const struct summary *summary, enum finding finding,
			       const struct findings_leaks *leaks)
{
	if (finding == FINDING_CLOSED || finding == FINDING_LOST || !leaks->class)
		return false;
	if (finding == FINDING_SIGNALS || leaks->blocks >= PILE_BLOCKS)
		return true;
	return finding == FINDING_SHORT &&
	       (finding_class(summary, finding)->temporary < TEMPS_MANY ||
		leaks->class->known != RESOURCE_MEMORY || leaks->class->held_bytes >= PEAK_BYTES);
}

struct list {
	struct findings_item *items;
	size_t count;
};

/* Adds an item, unless the list has an item of the same kind, class and finding. */
static void list_add(struct list *list, struct findings_item item)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].kind == item.kind && list->items[i].class == item.class &&
		    list->items[i].finding == item.finding)
			return;
	list->items[list->count++] = item;
}

static void list_wrong(struct list *list, const struct summary *summary, enum finding finding)
{
	const struct summary_class *class = finding_class(summary, finding);

	if (class)
		list_add(list, (struct findings_item){ FINDINGS_WRONG, finding, class,
						       findings[finding].report });
}

/*
 * Adds the waits for locks, semaphores and futexes, the longest first. Skips a class if the sum of
 * its waits over all threads is not longer than least_ns.
 */
static void list_all_waits(struct list *list, const struct summary *summary, uint64_t least_ns)
{
	static const struct {
		enum resource resource;
		const char *report;
	} rows[] = {
		{ RESOURCE_LOCK, "waits" },
		{ RESOURCE_SEMAPHORE, "waits --table=sem_waits,posts" },
		{ RESOURCE_FUTEX, "waits --table=futex_waits" },
	};
	const size_t count = sizeof(rows) / sizeof(*rows);
	uint64_t waited[sizeof(rows) / sizeof(*rows)];

	for (size_t i = 0; i < count; i++)
		waited[i] = waited_for(summary, rows[i].resource);
	for (;;) {
		size_t most = 0;

		for (size_t i = 1; i < count; i++)
			most = waited[i] > waited[most] ? i : most;
		if (waited[most] <= least_ns)
			return;
		list_add(list, (struct findings_item){
				       .kind = FINDINGS_WAITS,
				       .class = summary_class_of(summary, rows[most].resource),
				       .report = rows[most].report });
		waited[most] = 0;
	}
}

/*
 * Adds the live objects of one class if there are many. A large number suggests a leak of one
 * object per call, rather than objects that are left at exit on purpose.
 */
static void list_pile(struct list *list, const struct summary *summary, enum resource resource,
		      const char *report)
{
	const struct summary_class *class = summary_class_of(summary, resource);

	if (class && class->held - class->held_parts >= PILE_OBJECTS)
		list_add(list, (struct findings_item){
				       .kind = FINDINGS_LIVE, .class = class, .report = report });
}

size_t findings_list(const struct summary *summary, const struct findings_leaks *leaks,
		     struct findings_item *items)
{
	uint64_t length_ns = summary->end_ns - summary->start_ns;
	const char *hang = report_of_hang(summary);
	struct list list = { items, 0 };

	if (hang)
		list_add(&list,
			 (struct findings_item){ .kind = summary->deadlocked ? FINDINGS_DEADLOCK
									     : FINDINGS_HANG,
						 .report = hang });
	for (enum finding i = 0; i < FINDING_PEAK; i++)
		list_wrong(&list, summary, i);
	list_all_waits(&list, summary, length_ns);
	list_pile(&list, summary, RESOURCE_THREAD, "threads");
	list_pile(&list, summary, RESOURCE_FD, "fds");
	list_pile(&list, summary, RESOURCE_PROCESS, "leaks");
	list_all_waits(&list, summary, length_ns / 10);
	for (enum finding i = FINDING_PEAK; i < FINDINGS; i++)
		if (finding_class(summary, i) && !is_less_than_leaks(summary, i, leaks))
			list_wrong(&list, summary, i);
	/*
	 * calls of some libraries were not recorded, so reported leaks may be false: before leaks,
	 * suggest the table that lists these libraries
	 */
	if (summary->bypasses.count || summary->namespaces)
		list_add(&list, (struct findings_item){ .kind = FINDINGS_MISSING,
							.report = "info --table=missing" });
	if (leaks->class)
		list_add(&list, (struct findings_item){ .kind = FINDINGS_LIVE,
							.class = leaks->class,
							.report = leaks->class->known == RESOURCE_FD
									  ? "fds"
									  : "leaks" });
	for (enum finding i = FINDING_PEAK; i < FINDINGS; i++)
		list_wrong(&list, summary, i);
	return list.count;
}

const char *findings_report(const struct summary *summary, const struct findings_leaks *leaks)
{
	struct findings_item items[FINDINGS_ITEMS];
	bool has_untraced = summary->spawned.count != 0;

	if (findings_list(summary, leaks, items))
		return items[0].report;
	/* if a program ran without the library, suggest the table of missing data */
	for (size_t i = 0; i < summary->processes.count; i++)
		has_untraced |= summary->processes.items[i].end == SUMMARY_EXEC &&
				summary->processes.items[i].untraced;
	return has_untraced ? "info --table=missing" : "allocations";
}

/* ---- how many call sites are shown ---- */

size_t findings_places(const struct causes_top *top, enum finding finding, size_t most)
{
	size_t count = 0;

	/*
	 * skip the call sites that are too small: for a peak, those with less than 1 % of the bytes
	 * of the first call site; for other findings, with less than 10 % of its count
	 */
	for (; count < top->places.count && count < most; count++)
		if (finding == FINDING_PEAK
			    ? top->places.items[count].bytes < top->places.items[0].bytes / 100
			    : count && top->places.items[count].count <
					       top->places.items[0].count / 10)
			break;
	return count;
}

bool findings_waits_long(const struct summary *summary, uint64_t waited_ns)
{
	return waited_ns >= 100000000 || waited_ns >= (summary->end_ns - summary->start_ns) / 100;
}
