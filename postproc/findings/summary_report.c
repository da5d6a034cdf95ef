/* SPDX-License-Identifier: MIT */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "live.h"
#include "postproc/report/report.h"

/* Writes the findings as sentences. */

#define FRAMES	      2 /* number of frames of a call site that a sentence names */
#define SENTENCE_SIZE 1024

/*
 * Formats of numbers. The texts are temporary, so they are only valid within the calling statement.
 */
#define COUNT(number)  human_count(&(struct human){ { 0 } }, number)
#define BYTES(number)  human_bytes(&(struct human){ { 0 } }, number)
#define DURATION(ns)   human_time(&(struct human){ { 0 } }, ns)
#define PLURAL(number) ((number) == 1 ? "" : "s")

struct sentence {
	const struct report_run *run;
	const struct live *live;
	size_t length;
	/* backtrace of the call site that the sentence names first */
	const struct trace_node *backtrace;
	char text[SENTENCE_SIZE];
};

__attribute__((format(printf, 2, 3))) static void say(struct sentence *sentence, const char *format,
						      ...)
{
	size_t room = sizeof(sentence->text) - sentence->length;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(sentence->text + sentence->length, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		sentence->length += (size_t)length < room ? (size_t)length : room - 1;
}

static void say_site(struct sentence *sentence, const struct trace_node *backtrace)
{
	struct naming_line lines[FRAMES];
	size_t site, count = naming_site(sentence->run->naming, backtrace, lines, FRAMES, &site);

	if (!sentence->backtrace)
		sentence->backtrace = backtrace;
	if (!count)
		say(sentence, "an unknown call site");
	for (size_t i = 0; i < count; i++)
		say(sentence, "%s%s", i ? " <- " : "", lines[i].text);
}

static void say_deadlock(struct sentence *sentence)
{
	const struct summary *summary = sentence->run->summary;
	const struct summary_blocked *blocked = summary->blocked.items;

	say(sentence, "%s thread%s deadlocked", COUNT(summary->deadlocked),
	    summary->deadlocked == 1 ? " is" : "s are");
	if (!summary->blocked.count)
		return;
	say(sentence, ": thread %" PRIu32 " waits in %s at ", blocked->thread, blocked->function);
	say_site(sentence, blocked->backtrace);
	if (!blocked->has_holder)
		return;
	if (blocked->holder == blocked->thread)
		say(sentence, " for a lock that the thread itself locked at ");
	else
		say(sentence, " for a lock that thread %" PRIu32 " locked at ", blocked->holder);
	say_site(sentence, blocked->holder_backtrace);
}

static void say_hang(struct sentence *sentence)
{
	const struct summary *summary = sentence->run->summary;
	const struct summary_blocked *blocked = summary->blocked.items;
	const struct summary_blocked *end = blocked + summary->blocked.count;

	/* find what kept the program from ending: a lost wakeup, or a wait of the main thread */
	while (blocked < end && !blocked->is_lost_wakeup && blocked->thread != blocked->pid)
		blocked++;
	if (blocked == end)
		return;
	say(sentence, "Thread %" PRIu32 " waited in %s%s%s for %s and was not woken, at ",
	    blocked->thread, blocked->function, *blocked->what ? " for " : "", blocked->what,
	    DURATION(blocked->longest_ns));
	say_site(sentence, blocked->backtrace);
}

static void say_wrong(struct sentence *sentence, enum finding finding,
		      const struct summary_class *class)
{
	switch (finding) {
	case FINDING_CLOSED:
		if (class->bad_closes)
			say(sentence, "%s call%s closed a descriptor that was not open",
			    COUNT(class->bad_closes), PLURAL(class->bad_closes));
		if (class->bad_uses)
			say(sentence, "%s%s call%s used a descriptor that was not open",
			    class->bad_closes ? ", " : "", COUNT(class->bad_uses),
			    PLURAL(class->bad_uses));
		break;
	case FINDING_LOST:
		say(sentence, "%s in %s block%s unreachable: no pointer leads to %s",
		    BYTES(class->unkept_bytes), COUNT(class->unkept),
		    class->unkept == 1 ? " is" : "s are", class->unkept == 1 ? "it" : "them");
		break;
	case FINDING_PEAK:
		say(sentence, "Memory peaked at %s after %s; %s was live at exit",
		    BYTES(class->peak.amount), DURATION(class->peak.time_ns),
		    class->held ? BYTES(class->held_bytes) : "nothing");
		break;
	case FINDING_SIGNALS:
		say(sentence, "%s of %s signals of conditions had no waiter", COUNT(class->vain),
		    COUNT(class->notified));
		break;
	case FINDING_SHORT:
		say(sentence,
		    "%s of %s blocks were temporary: freed by the next call of their thread",
		    COUNT(class->temporary), COUNT(class->acquired));
		break;
	case FINDINGS:
		break;
	}
}

static void say_waits(struct sentence *sentence, const struct summary_class *class)
{
	const struct summary *summary = sentence->run->summary;
	uint64_t threshold_ns = waits_threshold(&class->waits);
	uint64_t count = waits_count(&class->waits.times, threshold_ns);

	say(sentence, "%s wait%s for %s%s took %s in all, in a run of %s", COUNT(count),
	    PLURAL(count), class->type, class->known == RESOURCE_FUTEX ? "es" : "s",
	    DURATION(waits_ns(&class->waits.times, threshold_ns)),
	    DURATION(summary->end_ns - summary->start_ns));
	if (!class->hot.waiter)
		return;
	say(sentence, "; the longest at ");
	say_site(sentence, class->hot.waiter);
	if (!class->hot.other)
		return;
	say(sentence, class->known == RESOURCE_LOCK    ? ", for a lock that was locked at "
		      : class->known == RESOURCE_FUTEX ? ", ended by the wake at "
						       : ", ended by the post at ");
	say_site(sentence, class->hot.other);
}

static void say_live(struct sentence *sentence, const struct summary_class *class)
{
	/* the words for a release of the class, as in "never freed" */
	static const char *const releases[RESOURCE_COUNT] = {
		[RESOURCE_MEMORY] = "freed",	  [RESOURCE_FD] = "closed",
		[RESOURCE_FILE] = "closed",	  [RESOURCE_DIRECTORY] = "closed",
		[RESOURCE_SHM_FD] = "closed",	  [RESOURCE_THREAD] = "joined",
		[RESOURCE_LOCK] = "unlocked",	  [RESOURCE_PROCESS] = "waited for",
		[RESOURCE_MAPPING] = "unmapped",  [RESOURCE_MUTEX] = "destroyed",
		[RESOURCE_RWLOCK] = "destroyed",  [RESOURCE_CONDITION] = "destroyed",
		[RESOURCE_BARRIER] = "destroyed", [RESOURCE_SEMAPHORE] = "destroyed",
	};
	const struct summary *summary = sentence->run->summary;
	const struct live_row *first = NULL;
	uint64_t count = 0, bytes = 0, rows = 0;
	bool is_memory = class->known == RESOURCE_MEMORY;
	const char *noun = is_memory ? "block" : class->type;

	for (size_t i = 0; i < sentence->live->count; i++) {
		const struct live_row *row = &sentence->live->items[i];

		if (&summary->classes[row->site->class] != class)
			continue;
		first = first ? first : row;
		count += row->count;
		bytes += row->bytes;
		rows++;
	}
	/* all live objects of the class are suppressed */
	if (!first)
		return;
	if (summary_has_bytes(class))
		say(sentence, "%s %sin ", BYTES(bytes), is_memory ? "of memory " : "");
	say(sentence, "%s %s%s", COUNT(count), noun,
	    count == 1				   ? ""
	    : strchr("sx", noun[strlen(noun) - 1]) ? "es"
						   : "s");
	if (count > 1)
		say(sentence, " from %s call site%s", COUNT(rows), PLURAL(rows));
	say(sentence, " %s never %s, %sat ", count == 1 ? "was" : "were",
	    releases[class->known] ?: "released",
	    count == 1	? ""
	    : rows == 1 ? "all "
			: "most ");
	say_site(sentence, first->site->backtrace);
}

static void put_item(struct table *table, const struct report_run *run, const struct live *live,
		     const struct findings_item *item)
{
	static const char *const kinds[] = {
		[FINDINGS_DEADLOCK] = "deadlock", [FINDINGS_HANG] = "hang",
		[FINDINGS_WAITS] = "waits",	  [FINDINGS_LIVE] = "live",
		[FINDINGS_MISSING] = "missing",
	};
	static const char *const wrongs[] = {
		[FINDING_CLOSED] = "misuse",   [FINDING_LOST] = "unreachable",
		[FINDING_PEAK] = "peak",       [FINDING_SIGNALS] = "signals",
		[FINDING_SHORT] = "temporary",
	};
	struct sentence sentence = { .run = run, .live = live };
	struct table_cell *row;

	switch (item->kind) {
	case FINDINGS_DEADLOCK:
		say_deadlock(&sentence);
		break;
	case FINDINGS_HANG:
		say_hang(&sentence);
		break;
	case FINDINGS_WRONG:
		say_wrong(&sentence, item->finding, item->class);
		break;
	case FINDINGS_WAITS:
		say_waits(&sentence, item->class);
		break;
	case FINDINGS_LIVE:
		say_live(&sentence, item->class);
		break;
	case FINDINGS_MISSING:
		if (run->summary->bypasses.count)
			say(&sentence, "Calls by %s were not recorded",
			    run->summary->bypasses.items[0].path);
		else
			say(&sentence, "Calls by libraries in another link namespace (dlmopen) "
				       "were not recorded");
		break;
	}
	if (!sentence.length)
		return;
	row = table_add(table);
	table_text(table, CELL(row, findings, kind),
		   item->kind == FINDINGS_WRONG ? wrongs[item->finding] : kinds[item->kind]);
	if (item->class)
		table_text(table, CELL(row, findings, class), item->class->type);
	table_text(table, CELL(row, findings, finding), sentence.text);
	table_text(table, CELL(row, findings, report), item->report);
	if (sentence.backtrace)
		table_backtrace(CELL(row, findings, backtrace), sentence.backtrace);
}

static void summary_report_put(struct table *table, const struct summary_class *class)
{
	const struct summary_peak *peak = &class->peak;
	uint64_t threshold_ns = waits_threshold(&class->waits);
	struct table_cell *row = table_add(table);

	table_text(table, CELL(row, classes, class), class->type);
	table_number(CELL(row, classes, acquired), class->acquired);
	table_number(CELL(row, classes, released), class->lost);
	if (class->known == RESOURCE_THREAD)
		table_number(CELL(row, classes, joined), class->waited);
	if (class->known == RESOURCE_LOCK)
		table_number(CELL(row, classes, relocked), class->retaken);
	table_number(CELL(row, classes, failed), class->failed);
	table_amount(CELL(row, classes, peak), peak->amount, summary_has_bytes(class));
	if (peak->amount)
		table_number(CELL(row, classes, peak_time), peak->time_ns);
	table_number(CELL(row, classes, live), class->held);
	if (summary_has_bytes(class))
		table_number(CELL(row, classes, live_bytes), class->held_bytes);
	table_error(CELL(row, classes, live_bytes_error), class->held_variance, true);
	if (class->waits.calls) {
		table_number(CELL(row, classes, waits),
			     waits_count(&class->waits.times, threshold_ns));
		table_number(CELL(row, classes, wait_time),
			     waits_ns(&class->waits.times, threshold_ns));
	}
	table_number(CELL(row, classes, unmatched), class->strays);
	table_number(CELL(row, classes, replaced), class->replaced);
	table_number(CELL(row, classes, released_before), class->earlier);
}

static void summary_report_end(void *state, struct tables *tables)
{
	const struct report_run *run = state;
	const struct summary *summary = run->summary;
	struct table *table = tables_begin(tables, TABLE_findings);
	struct findings_item items[FINDINGS_ITEMS + LEDGER_CLASSES];
	struct suppress suppress = { 0 };
	struct error err = { 0 };
	struct live live;
	size_t count;

	/*
	 * fill the table `findings`: the problems of the run as sentences, the most harmful first
	 */
	/* an unreadable file of suppressions is an error only in the report `leaks` */
	if (summary->processes.count && suppress_fill(&suppress, run->options, &err) == 0) {
		live_collect(&live, summary, run->naming, &suppress);
		count = findings_list(summary, &live.leaks, items);
		/* add each class that has live objects and is not among the items */
		for (size_t i = 0; i < live.count; i++) {
			const struct summary_class *class =
				&summary->classes[live.items[i].site->class];
			bool is_listed = false;

			for (size_t k = 0; k < count; k++)
				is_listed |=
					items[k].kind == FINDINGS_LIVE && items[k].class == class;
			if (!is_listed)
				items[count++] = (struct findings_item){ .kind = FINDINGS_LIVE,
									 .class = class,
									 .report = "leaks" };
		}
		for (size_t i = 0; i < count; i++)
			put_item(table, run, &live, &items[i]);
		live_free(&live);
	}
	suppress_free(&suppress);
	table = tables_begin(tables, TABLE_classes);
	for (enum resource known = RESOURCE_NONE + 1; known < RESOURCE_COUNT; known++) {
		const struct summary_class *class = summary_class_of(summary, known);

		if (class && known != RESOURCE_EVENT)
			summary_report_put(table, class);
	}
	for (uint32_t i = 0; i < summary->class_count; i++)
		if (summary->classes[i].known == RESOURCE_NONE)
			summary_report_put(table, &summary->classes[i]);
	table = tables_begin(tables, TABLE_mapped_before);
	for (enum before_kind kind = 0; kind < BEFORE_KINDS; kind++) {
		struct before_sum sum = { 0 };
		struct table_cell *row;

		for (size_t i = 0; i < summary->processes.count; i++)
			before_add_up(&sum, &summary->processes.items[i].had[kind]);
		if (sum.ranges) {
			row = table_add(table);
			table_text(table, CELL(row, mapped_before, kind), before_word(kind));
			table_number(CELL(row, mapped_before, ranges), sum.ranges);
			table_number(CELL(row, mapped_before, bytes), sum.bytes);
			table_number(CELL(row, mapped_before, unmapped), sum.lost);
		}
	}
}

/*
 * The report `summary`: the numbers of the screen that is printed at the end of a run. In the text
 * format, the report is this screen.
 */
const struct report report_summary = {
	.wants_summary = true,
	.is_screen = true,
	.end = summary_report_end,
};
