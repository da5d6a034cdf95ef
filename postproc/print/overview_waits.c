/* SPDX-License-Identifier: MIT */
#include "overview_parts.h"

#include <inttypes.h>

#include "hook_table.h"
#include "postproc/findings/findings.h"

#define BLOCKED_MAX 4

/* ---- waits ---- */

/* Names of the classes that calls wait for most; the others have no row. */
static const char *waiting_words(enum resource resource)
{
	static const char *const words[RESOURCE_COUNT] = {
		[RESOURCE_LOCK] = "locks",	     [RESOURCE_SEMAPHORE] = "semaphores",
		[RESOURCE_CONDITION] = "conditions", [RESOURCE_THREAD] = "joins",
		[RESOURCE_BARRIER] = "barriers",     [RESOURCE_SEMSET] = "semsets",
	};

	return words[resource] ? words[resource] : "others";
}

static void print_longest(struct overview *overview, const struct summary_class *class)
{
	struct line line;

	if (!class->hot.waiter)
		return;
	line_begin(&line);
	line_to(&line, OVERVIEW_COLUMN);
	line_add(&line, "longest: ");
	overview_frames(overview, &line, OVERVIEW_COLUMN + 2, 1, class->hot.waiter, 1, "");
	screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN + 2);
	if (!class->hot.other)
		return;
	line_to(&line, OVERVIEW_COLUMN);
	line_add(&line, class->known == RESOURCE_LOCK ? "held by: " : "woken by: ");
	overview_frames(overview, &line, OVERVIEW_COLUMN + 2, 1, class->hot.other, 1, "");
	screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN + 2);
	if (class->known != RESOURCE_SEMAPHORE || class->hot.first == class->hot.other)
		return;
	line_to(&line, OVERVIEW_COLUMN);
	line_add(&line, "the last of a row that began at: ");
	overview_frames(overview, &line, OVERVIEW_COLUMN + 2, 1, class->hot.first, 1, "");
	screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN + 2);
}

static void print_wait(struct overview *overview, const struct summary_class *class)
{
	uint64_t threshold = waits_threshold(&class->waits);
	const struct waits_times *times = &class->waits.times;
	uint64_t waits = waits_count(times, threshold);
	struct line line;

	line_begin(&line);
	line_add(&line, "  %s", waiting_words(class->known));
	line_to(&line, OVERVIEW_COLUMN);
	line_add(&line, "%s of %s waited %s in all, longest %s", COUNT(waits),
		 COUNT(class->waits.calls), DURATION(waits_ns(times, threshold)),
		 DURATION(times->longest_ns));
	if (threshold)
		line_add(&line, " (counting waits over %s)", DURATION(threshold));
	screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN);
	/* Long waits of joins and barriers are normal. */
	if ((class->known == RESOURCE_LOCK || class->known == RESOURCE_SEMAPHORE ||
	     class->known == RESOURCE_CONDITION) &&
	    overview->tight < OVERVIEW_TIGHTEST &&
	    findings_waits_long(overview->summary, waits_ns(times, threshold)))
		print_longest(overview, class);
}

void overview_waits(struct overview *overview)
{
	static const enum resource order[] = { RESOURCE_LOCK,	 RESOURCE_SEMAPHORE,
					       RESOURCE_SEMSET,	 RESOURCE_CONDITION,
					       RESOURCE_BARRIER, RESOURCE_THREAD };
	size_t title = overview->screen.count;
	struct line line;

	line_begin(&line);
	line_add(&line, "waits");
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		const struct summary_class *class = summary_class_of(overview->summary, order[i]);

		if (!class || !waits_count(&class->waits.times, waits_threshold(&class->waits)))
			continue;
		if (overview->screen.count == title)
			screen_add(&overview->screen, &line);
		print_wait(overview, class);
	}
}

/* ---- calls that still wait ---- */

static const char *object_word(enum resource resource, const char *function)
{
	const struct hook *hook = hook_find(function);

	if (resource == RESOURCE_LOCK && hook)
		switch (hook->how) {
		case HOW_READS:
		case HOW_WRITES:
			return resource_table[RESOURCE_RWLOCK].type;
		case HOW_SPINS:
			return resource_table[RESOURCE_SPINLOCK].type;
		case HOW_PLAIN:
		case HOW_JOINS:
		case HOW_WAKES_ALL:
		case HOW_SHARES:
			break;
		}
	/* flockfile() locks a stream, all other functions a mutex */
	if (resource == RESOURCE_LOCK)
		return hook && strstr(hook->name, "file") ? "stream" : "mutex";
	return resource && resource != RESOURCE_EVENT ? resource_table[resource].type : "object";
}

/* Whether the class's objects are known by number, not by address. */
static bool is_number(enum resource resource)
{
	return resource == RESOURCE_FD || resource == RESOURCE_SHM_FD ||
	       resource == RESOURCE_PROCESS || resource == RESOURCE_SEMSET ||
	       resource == RESOURCE_SEGMENT;
}

static void print_holder(struct overview *overview, const struct summary_blocked *blocked)
{
	struct line line;

	line_begin(&line);
	line_to(&line, 6);
	if (blocked->joined) {
		line_add(&line,
			 blocked->joined == blocked->thread ? "which is itself"
							    : "which is thread %" PRIu32,
			 blocked->joined);
		screen_wrap(&overview->screen, &line, 8);
	}
	if (!blocked->has_holder)
		return;
	if (blocked->holder == blocked->thread)
		line_add(&line, "held by itself: taken at ");
	else
		line_add(&line, "held by thread %" PRIu32 "%s: taken at ", blocked->holder,
			 blocked->has_ended_holder ? ", which has ended" : "");
	overview_frames(overview, &line, 8, 2, blocked->holder_backtrace, 1, "");
	screen_wrap(&overview->screen, &line, 8);
}

static void print_vain(struct overview *overview, const struct summary_blocked *blocked)
{
	struct line line;

	if (!blocked->vain_backtrace)
		return;
	line_begin(&line);
	line_to(&line, 6);
	line_add(&line,
		 "the last signal came %s before, when nobody waited: thread %" PRIu32 " at ",
		 DURATION(blocked->vain_ns), blocked->vain_thread);
	overview_frames(overview, &line, 8, 3, blocked->vain_backtrace, 1, "");
	screen_wrap(&overview->screen, &line, 8);
}

/* The last post or signal for the object: without one the wait never ends. */
static void print_notify(struct overview *overview, const struct summary_blocked *blocked)
{
	bool is_semaphore = blocked->resource == RESOURCE_SEMAPHORE;
	struct line line;

	if (blocked->vain_backtrace || (!is_semaphore && blocked->resource != RESOURCE_CONDITION))
		return;
	line_begin(&line);
	line_to(&line, 6);
	if (blocked->notify_backtrace) {
		line_add(&line, "the last %s came %s before the end: thread %" PRIu32 " at ",
			 is_semaphore ? "post" : "signal", DURATION(blocked->notify_ns),
			 blocked->notify_thread);
		overview_frames(overview, &line, 8, 3, blocked->notify_backtrace, 1, "");
	} else {
		line_add(&line, "no thread %s it", is_semaphore ? "posted" : "signalled");
	}
	screen_wrap(&overview->screen, &line, 8);
}

static void print_blocked(struct overview *overview, const struct summary_blocked *blocked)
{
	struct line line;

	line_begin(&line);
	if (blocked->threads > 1)
		line_add(&line, "  %" PRIu32 " threads (%" PRIu32 " ...)", blocked->threads,
			 blocked->thread);
	else
		line_add(&line, "  thread %" PRIu32, blocked->thread);
	line_add(&line, " in %s", blocked->function);
	if (blocked->object)
		line_add(&line,
			 is_number(blocked->resource) ? " for %s %" PRIu64 : " for %s 0x%" PRIx64,
			 object_word(blocked->resource, blocked->function), blocked->object);
	line_add(&line, " for %s", DURATION(blocked->longest_ns));
	screen_wrap(&overview->screen, &line, 6);
	line_to(&line, 6);
	line_add(&line, "at ");
	overview_frames(overview, &line, 8, 2, blocked->backtrace, 1, "");
	screen_wrap(&overview->screen, &line, 8);
	print_holder(overview, blocked);
	print_vain(overview, blocked);
	print_notify(overview, blocked);
}

/* The time of the waits: the program's end, or the snapshot of a running program. */
static const char *when_words(const struct summary *summary)
{
	for (size_t i = 0; i < summary->processes.count; i++)
		if (summary->processes.items[i].has_end)
			return "waiting when it ended";
	return "waiting when this was written";
}

void overview_blocked(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	const char *when = when_words(summary);
	size_t count = summary->blocked.count;
	struct line line;

	if (!count)
		return;
	line_begin(&line);
	if (summary->deadlocked)
		line_add(&line, "DEADLOCK of %s thread%s; %s", COUNT(summary->deadlocked),
			 PLURAL(summary->deadlocked), when);
	else
		line_add(&line, "%s", when);
	if (count > overview_limit(overview, BLOCKED_MAX))
		line_add(&line, " (%zu of %s)", overview_limit(overview, BLOCKED_MAX),
			 COUNT(count));
	screen_wrap(&overview->screen, &line, 2);
	for (size_t i = 0; i < count && i < overview_limit(overview, BLOCKED_MAX); i++)
		print_blocked(overview, &summary->blocked.items[i]);
}
