/* SPDX-License-Identifier: MIT */
/* Prints waits, calls that still wait, and findings that the sums on the screen do not show. */
#include "overview_parts.h"

#include <inttypes.h>
#include <stdio.h>

#include "hook_table.h"
#include "naming/waiters.h"
#include "postproc/findings/findings.h"

#define BLOCKED_MAX 4
#define PLACES	    3 /* maximum number of call sites of a finding */

/* Adds a line of text and the frames of a backtrace. */
static void print_frames(struct overview *overview, size_t column, size_t indent, size_t height,
			 const char *text, const struct trace_node *backtrace)
{
	struct line line = { .length = 0 };

	line_to(&line, column);
	line_add(&line, "%s", text);
	overview_frames(overview, &line, indent, height, backtrace, 1, "");
	screen_wrap(&overview->screen, &line, indent);
}

/* ---- waits ---- */

/* The classes of objects that threads wait for, and their names on this screen. */
static const struct {
	enum resource resource;
	const char *name;
} waited[] = {
	{ RESOURCE_LOCK, "locks" },	{ RESOURCE_SEMAPHORE, "semaphores" },
	{ RESOURCE_SEMSET, "semsets" }, { RESOURCE_CONDITION, "conditions" },
	{ RESOURCE_FUTEX, "futexes" },	{ RESOURCE_BARRIER, "barriers" },
	{ RESOURCE_THREAD, "joins" },
};

/* Prints how long threads waited in calls that block; idle waits of event loops are separate. */
static void print_calls(struct overview *overview)
{
	const struct summary_calls *calls = &overview->summary->called;
	const size_t column = OVERVIEW_COLUMN;
	struct line line = { .length = 0 };
	char text[512];

	line_add(&line, "  calls");
	line_to(&line, column);
	if (calls->waits)
		line_add(&line, "%s waited %s in all, longest %s", COUNT(calls->waits),
			 DURATION(calls->ns), DURATION(calls->longest_ns));
	if (calls->idle)
		line_add(&line, "%s%s idle wait%s of event loops took %s", calls->waits ? "; " : "",
			 COUNT(calls->idle), PLURAL(calls->idle), DURATION(calls->idle_ns));
	screen_wrap(&overview->screen, &line, column);
	if (!calls->waiter || overview->tight >= OVERVIEW_TIGHTEST ||
	    !findings_waits_long(overview->summary, calls->ns))
		return;
	snprintf(text, sizeof(text), "longest: %s%s%s at ", calls->function,
		 *calls->what ? " for " : "", calls->what);
	print_frames(overview, column, column + 2, 1, text, calls->waiter);
	if (calls->waker)
		print_frames(overview, column, column + 2, 1, "woken by: ", calls->waker);
}

/* Prints the waits for the GIL of Python, and the line of Python that made threads wait longest. */
static void print_gil(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	const size_t column = OVERVIEW_COLUMN;
	const struct summary_gil *worst = NULL;
	struct line line = { .length = 0 };
	uint64_t ns = 0, longest_ns = 0;

	for (size_t i = 1; i < summary->gil_waits.count; i++) {
		const struct summary_gil *waits = &summary->gil_waits.items[i];

		ns += waits->sum.ns;
		if (waits->sum.longest_ns > longest_ns)
			longest_ns = waits->sum.longest_ns;
		if (waits->holder && (!worst || waits->sum.ns > worst->sum.ns))
			worst = waits;
	}
	if (!findings_waits_long(summary, ns))
		return;
	line_add(&line, "  Python GIL");
	line_to(&line, column);
	line_add(&line, "waited %s in all, longest %s", DURATION(ns), DURATION(longest_ns));
	if (worst) {
		line_add(&line, ", mostly held by: ");
		overview_frames(overview, &line, column + 2, 1, worst->holder, 1, "");
	}
	screen_wrap(&overview->screen, &line, column + 2);
}

void overview_waits(struct overview *overview)
{
	const size_t column = OVERVIEW_COLUMN;
	size_t title = overview->screen.count;

	for (size_t i = 0; i < sizeof(waited) / sizeof(*waited); i++) {
		const struct summary_class *class =
			summary_class_of(overview->summary, waited[i].resource);
		const struct waits_times *times = class ? &class->waits.times : NULL;
		uint64_t threshold = class ? waits_threshold(&class->waits) : 0;
		struct line line = { .length = 0 };

		if (!class || !waits_count(times, threshold))
			continue;
		if (overview->screen.count == title)
			screen_say(&overview->screen, 0, "waits");
		line_add(&line, "  %s", waited[i].name);
		line_to(&line, OVERVIEW_COLUMN);
		line_add(&line, "%s of %s waited %s in all, longest %s",
			 COUNT(waits_count(times, threshold)), COUNT(class->waits.calls),
			 DURATION(waits_ns(times, threshold)), DURATION(times->longest_ns));
		if (threshold)
			line_add(&line, " (counting waits over %s)", DURATION(threshold));
		screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN);
		/* no longest wait for joins and barriers: these waits are often long by design */
		if ((class->known == RESOURCE_LOCK || class->known == RESOURCE_SEMAPHORE ||
		     class->known == RESOURCE_CONDITION || class->known == RESOURCE_FUTEX) &&
		    overview->tight < OVERVIEW_TIGHTEST &&
		    findings_waits_long(overview->summary, waits_ns(times, threshold)) &&
		    class->hot.waiter) {
			print_frames(overview, column, column + 2, 1,
				     "longest: ", class->hot.waiter);
			if (class->hot.other)
				print_frames(overview, column, column + 2, 1,
					     class->known == RESOURCE_LOCK ? "held by: "
									   : "woken by: ",
					     class->hot.other);
			if (class->hot.other && class->known == RESOURCE_SEMAPHORE &&
			    class->hot.first != class->hot.other)
				print_frames(
					overview, column, column + 2, 1,
					"at the end of a chain that began at: ", class->hot.first);
		}
	}
	if (overview->screen.count > title)
		print_gil(overview);
	if (!overview->summary->called.waits && !overview->summary->called.idle)
		return;
	if (overview->screen.count == title)
		screen_say(&overview->screen, 0, "waits");
	print_calls(overview);
}

/* ---- calls that still wait ---- */

static const char *object_word(enum resource resource, const char *function)
{
	const struct hook *hook = hook_find(function);

	if (resource != RESOURCE_LOCK)
		return resource && resource != RESOURCE_EVENT ? resource_table[resource].type
							      : "object";
	if (hook && (hook->how == HOW_READS || hook->how == HOW_WRITES))
		return resource_table[RESOURCE_RWLOCK].type;
	if (hook && hook->how == HOW_SPINS)
		return resource_table[RESOURCE_SPINLOCK].type;
	/* flockfile() locks a stream; all other functions lock a mutex */
	return hook && strstr(hook->name, "file") ? "stream" : "mutex";
}

static void print_holder(struct overview *overview, const struct summary_blocked *blocked)
{
	char text[100] = "held by the waiting thread itself: locked at ";

	if (blocked->joined)
		screen_say(&overview->screen, 8,
			   blocked->joined == blocked->thread
				   ? "      the joined thread is the waiting thread itself"
				   : "      the joined thread is thread %" PRIu32,
			   blocked->joined);
	if (!blocked->has_holder)
		return;
	if (blocked->holder != blocked->thread)
		snprintf(text, sizeof(text), "held by thread %" PRIu32 "%s: locked at ",
			 blocked->holder,
			 blocked->is_inherited && blocked->has_ended_holder
				 ? ", which fork() did not copy"
			 : blocked->has_ended_holder ? ", which has ended"
						     : "");
	print_frames(overview, 6, 8, 2, text, blocked->holder_backtrace);
}

/* Prints the last post, signal or wake of the object. Only a later call could end the wait. */
static void print_notify(struct overview *overview, const struct summary_blocked *blocked)
{
	bool is_semaphore = blocked->resource == RESOURCE_SEMAPHORE;
	bool is_futex = blocked->resource == RESOURCE_FUTEX;
	char text[160];

	if (blocked->vain_backtrace) {
		snprintf(text, sizeof(text),
			 "the last signal came %s before this wait, while no thread was waiting: "
			 "thread "
			 "%" PRIu32 " at ",
			 DURATION(blocked->vain_ns), blocked->vain_thread);
		print_frames(overview, 6, 8, 3, text, blocked->vain_backtrace);
		return;
	}
	if (!is_semaphore && !is_futex && blocked->resource != RESOURCE_CONDITION)
		return;
	if (!blocked->notify_backtrace) {
		/* a thread makes no futex call to release a lock without waiters */
		if (is_futex)
			screen_say(&overview->screen, 8,
				   "      no wake of this futex was recorded");
		else
			screen_say(&overview->screen, 8,
				   is_semaphore ? "      no thread posted the semaphore"
						: "      no thread signalled the condition");
		return;
	}
	snprintf(text, sizeof(text), "the last %s came %s before the end: thread %" PRIu32 " at ",
		 is_semaphore ? "post"
		 : is_futex   ? "wake"
			      : "signal",
		 DURATION(blocked->notify_ns), blocked->notify_thread);
	print_frames(overview, 6, 8, 3, text, blocked->notify_backtrace);
	if (is_futex) {
		/*
		 * print the waits of the thread that last released a lock by a futex call. That
		 * thread may hold the lock again: acquiring a lock without waiting makes no futex
		 * call, so it is not recorded.
		 */
		const struct summary *summary = overview->summary;

		if (!waiters_is_lock(waiters_kind(overview->naming, blocked->backtrace)))
			return;
		for (size_t i = 0; i < summary->blocked.count; i++) {
			const struct summary_blocked *other = &summary->blocked.items[i];

			if (other->thread != blocked->notify_thread || other->pid != blocked->pid ||
			    other == blocked || other->resource != RESOURCE_FUTEX)
				continue;
			screen_say(&overview->screen, 8,
				   "      that thread waits for 0x%" PRIx64
				   ": a deadlock if it holds this lock again (inferred)",
				   other->object);
		}
	}
}

void overview_blocked(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	size_t count = summary->blocked.count, shown = overview_limit(overview, BLOCKED_MAX);
	const char *when = "waiting at the time of the snapshot";
	struct line line = { .length = 0 };

	if (!count)
		return;
	/* if no end is recorded, the trace is a snapshot of a running program */
	for (size_t i = 0; i < summary->processes.count; i++)
		if (summary->processes.items[i].has_end)
			when = "waiting when the program ended";
	if (summary->deadlocked)
		line_add(&line, "DEADLOCK of %s thread%s; ", COUNT(summary->deadlocked),
			 PLURAL(summary->deadlocked));
	line_add(&line, "%s", when);
	if (count > shown)
		line_add(&line, " (%zu of %s)", shown, COUNT(count));
	screen_wrap(&overview->screen, &line, 2);
	for (size_t i = 0; i < count && i < shown; i++) {
		const struct summary_blocked *blocked = &summary->blocked.items[i];

		if (blocked->threads > 1)
			line_add(&line, "  %" PRIu32 " threads (%" PRIu32 " ...)", blocked->threads,
				 blocked->thread);
		else
			line_add(&line, "  thread %" PRIu32, blocked->thread);
		line_add(&line, " in %s", blocked->function);
		if (*blocked->what)
			line_add(&line, " for %s", blocked->what);
		else if (blocked->object && blocked->resource != RESOURCE_CALL)
			line_add(&line,
				 (blocked->resource == RESOURCE_FD ||
				  blocked->resource == RESOURCE_SHM_FD ||
				  blocked->resource == RESOURCE_PROCESS ||
				  blocked->resource == RESOURCE_SEMSET ||
				  blocked->resource == RESOURCE_SEGMENT)
					 ? " for %s %" PRIu64
					 : " for %s 0x%" PRIx64,
				 blocked->resource == RESOURCE_FUTEX
					 ? waiters_kind(overview->naming, blocked->backtrace)
					 : object_word(blocked->resource, blocked->function),
				 blocked->object);
		line_add(&line, " for %s%s", DURATION(blocked->longest_ns),
			 blocked->is_idle ? ": an idle event loop" : "");
		screen_wrap(&overview->screen, &line, 6);
		print_frames(overview, 6, 8, 2, "at ", blocked->backtrace);
		print_holder(overview, blocked);
		print_notify(overview, blocked);
	}
}

/* ---- findings ---- */

static void say_closed(struct line *line, const struct summary_class *class)
{
	if (class->bad_closes)
		line_add(line, "%s call%s closed a descriptor that was not open",
			 COUNT(class->bad_closes), PLURAL(class->bad_closes));
	if (class->bad_uses)
		line_add(line, "%s%s call%s used a descriptor that was not open",
			 class->bad_closes ? ", " : "", COUNT(class->bad_uses),
			 PLURAL(class->bad_uses));
	line_add(line, " (EBADF)");
}

static void say_lost(struct line *line, const struct summary_class *class)
{
	line_add(line, "%s block%s (%s) %s unreachable when scanned: no pointer leads to %s",
		 COUNT(class->unkept), PLURAL(class->unkept), BYTES(class->unkept_bytes),
		 class->unkept == 1 ? "was" : "were", class->unkept == 1 ? "it" : "them");
}

static void say_peak(struct line *line, const struct summary_class *class)
{
	line_add(line, "peak of %s at %s, %s live at exit", BYTES(class->peak.amount),
		 DURATION(class->peak.time_ns), class->held ? BYTES(class->held_bytes) : "nothing");
}

static void say_signals(struct line *line, const struct summary_class *class)
{
	line_add(line, "%s of %s signals had no waiter", COUNT(class->vain),
		 COUNT(class->notified));
}

static void say_short(struct line *line, const struct summary_class *class)
{
	line_add(line, "%s of %s blocks were temporary: freed by the next call of their thread",
		 COUNT(class->temporary), COUNT(class->acquired));
}

/* ---- call sites of a finding ---- */

/* Adds the frames of a backtrace to a line and prints it, with its further lines indented. */
static void print_place(struct overview *overview, struct line *line,
			const struct trace_node *backtrace, uint64_t sites)
{
	size_t indent =
		line->length < overview->screen.width * 3 / 5 ? line->length : OVERVIEW_COLUMN + 2;
	char behind[40] = "";

	if (sites > 1)
		snprintf(behind, sizeof(behind), " (%s sites)", COUNT(sites));
	overview_frames(overview, line, indent, 2, backtrace, sites, behind);
	screen_wrap(&overview->screen, line, indent);
}

static void name_top(struct overview *overview, enum finding finding)
{
	const struct causes *causes = overview->summary->causes;
	const struct causes_top *top = finding == FINDING_PEAK ? &causes->peak : &causes->temp;
	size_t count = findings_places(top, finding, overview_limit(overview, PLACES));

	for (size_t i = 0; i < count; i++) {
		const struct causes_place *place = &top->places.items[i];
		struct line line = { .length = 0 };

		line_to(&line, OVERVIEW_COLUMN);
		if (finding == FINDING_PEAK)
			line_add(&line, "%s in %s block%s  ", BYTES(place->bytes),
				 COUNT(place->count), PLURAL(place->count));
		else
			line_add(&line, "%s  ", COUNT(place->count));
		print_place(overview, &line, place->backtrace, place->sites);
	}
}

/* Prints the most frequent misuse of a descriptor: the calls that opened, closed and misused it. */
static void name_closed(struct overview *overview, enum finding finding)
{
	const struct misuses *misuses = &overview->summary->causes->misuses;
	const struct misuse *misuse = misuses->list.count ? misuses->list.items[0] : NULL;
	const char *words[] = {
		[MISUSE_OPENED] = "opened by",
		[MISUSE_CLOSED] = "closed by",
		[MISUSE_AGAIN] =
			misuse && misuse->kind == DESCRIPTOR_CLOSED_TWICE ? "again by" : "used by",
	};
	struct line line = { .length = 0 };

	(void)finding;
	if (!misuse)
		return;
	line_to(&line, OVERVIEW_COLUMN);
	line_add(&line, "descriptor %" PRIu64 "%s%s", misuse->number, misuse->what ? " " : "",
		 misuse->what ? misuse->what : "");
	if (misuse->count > 1)
		line_add(&line, ", and %s more like it", COUNT(misuse->count - 1));
	if (misuse->kind == DESCRIPTOR_GONE)
		line_add(&line, ": no recorded call closed it");
	screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN + 2);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (!misuse->steps[i].backtrace)
			continue;
		line_to(&line, OVERVIEW_COLUMN + 2);
		line_add(&line, "%-10s  ", words[i]);
		print_place(overview, &line, misuse->steps[i].backtrace, 1);
	}
}

static const struct {
	void (*say)(struct line *line, const struct summary_class *class);
	/* prints the call sites of the finding; NULL: only a report lists them, not the screen */
	void (*name)(struct overview *overview, enum finding finding);
} findings[FINDINGS] = {
	[FINDING_CLOSED] = { say_closed, name_closed }, [FINDING_LOST] = { say_lost, NULL },
	[FINDING_PEAK] = { say_peak, name_top },	[FINDING_SIGNALS] = { say_signals, NULL },
	[FINDING_SHORT] = { say_short, name_top },
};

void overview_unusual(struct overview *overview)
{
	size_t title = overview->screen.count;

	for (enum finding i = 0; i < FINDINGS; i++) {
		const struct summary_class *class = finding_class(overview->summary, i);
		struct line line = { .length = 0 };

		if (!class)
			continue;
		if (overview->screen.count == title)
			screen_say(&overview->screen, 0, "unusual");
		line_add(&line, "  %.20s", class->type);
		line_to(&line, OVERVIEW_COLUMN);
		findings[i].say(&line, class);
		screen_wrap(&overview->screen, &line, OVERVIEW_COLUMN);
		if (findings[i].name && overview->summary->causes)
			findings[i].name(overview, i);
	}
}
