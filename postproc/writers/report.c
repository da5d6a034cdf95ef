/* SPDX-License-Identifier: MIT */
#include "postproc/writers/report.h"

#include "hook_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "postproc/writers/human.h"
#include "postproc/writers/names.h"
#include "postproc/writers/screen.h"

#define COLUMN_USED	 14
#define COLUMN_AMOUNT	 6
#define AMOUNT_WIDTH_MAX 34

#define SITES_MAX     10
#define FRAMES_MAX    6
#define BLOCKED_MAX   4
#define PROCESSES_MAX 6
#define MISSING_MAX   3
#define CUT_MAX	      3
#define OTHERS_MAX    4 /* classes of other tracers */

#define TIGHTEST 2

struct report {
	const struct summary *summary;
	struct names *names;
	struct screen screen;
	unsigned tight; /* 0: everything; each step halves the lists */
};

static size_t limit(const struct report *report, size_t most)
{
	return most >> report->tight ? most >> report->tight : 1;
}

/* A number that is printed at once. */
#define COUNT(number)  human_count(&(struct human){ { 0 } }, number)
#define BYTES(number)  human_bytes(&(struct human){ { 0 } }, number)
#define EXACT(number)  human_exact_bytes(&(struct human){ { 0 } }, number)
#define TIME(ns)       human_time(&(struct human){ { 0 } }, ns)
#define MOMENT(ns)     human_moment(&(struct human){ { 0 } }, ns)
#define PLURAL(number) ((number) == 1 ? "" : "s")

/* ---- the first line ---- */

/* The image that the run's first process ended as. */
static const struct summary_process *last_image(const struct summary *summary)
{
	const struct summary_process *last = &summary->processes.items[0];

	for (size_t i = 1; i < summary->processes.count; i++)
		if (summary->processes.items[i].pid == last->pid)
			last = &summary->processes.items[i];
	return last;
}

static const char *name_of(const struct summary_process *process)
{
	const char *name = process->name && *process->name ? process->name : "program";
	const char *slash = strrchr(name, '/');

	return slash && slash[1] ? slash + 1 : name;
}

/* What a process became by exec, if that was traced. */
static const struct summary_process *next_image(const struct summary *summary,
						const struct summary_process *process)
{
	const struct summary_process *end = summary->processes.items + summary->processes.count;

	for (const struct summary_process *next = process + 1; next < end; next++)
		if (next->pid == process->pid)
			return next;
	return NULL;
}

static void add_end(const struct summary *summary, struct line *line,
		    const struct summary_process *process)
{
	const struct summary_process *next = next_image(summary, process);
	const char *signal;

	switch (process->end) {
	case SUMMARY_EXITED:
		line_add(line, process->has_status ? "exit %d" : "exited", process->status);
		break;
	case SUMMARY_KILLED:
		signal = process->has_status ? sigabbrev_np(process->status) : NULL;
		line_add(line, signal ? "killed by SIG%s" : "killed", signal);
		break;
	case SUMMARY_EXEC:
		if (next)
			line_add(line, "ran %.20s", name_of(next));
		else
			line_add(line, "ran a program that is not in these traces");
		break;
	case SUMMARY_UNKNOWN:
		line_add(line, process->has_end	    ? "ended, nobody saw how"
			       : process->has_tails ? "no end recorded"
						    : "end not known");
		break;
	}
}

static bool is_complete(const struct summary_process *process)
{
	return process->has_end && !process->is_damaged;
}

static bool all_complete(const struct summary *summary)
{
	for (size_t i = 0; i < summary->processes.count; i++)
		if (!is_complete(&summary->processes.items[i]))
			return false;
	return true;
}

static void add_lost(struct line *line, const struct summary *summary)
{
	if (!summary->lost) {
		if (all_complete(summary))
			line_add(line, ", 0 lost");
		return;
	}
	line_add(line, ", %s LOST", COUNT(summary->lost));
	for (size_t i = 0; i < summary->losses.count; i++)
		line_add(line, "%s%s %s%s", i ? ", " : " (", summary->losses.items[i].reason,
			 COUNT(summary->losses.items[i].count),
			 i + 1 == summary->losses.count ? ")" : "");
}

static void add_counts(struct line *line, const struct summary *summary)
{
	if (summary->pids > 1)
		line_add(line, "%s processes, ", COUNT(summary->pids));
	if (summary->threads)
		line_add(line, "%s thread%s, ", COUNT(summary->threads), PLURAL(summary->threads));
	line_add(line, "%s event%s", COUNT(summary->events), PLURAL(summary->events));
	add_lost(line, summary);
}

static void print_verdict(struct report *report)
{
	const struct summary *summary = report->summary;
	const struct summary_process *root = last_image(summary);
	struct line line, counts;

	line_begin(&line);
	line_add(&line, "holdtrace: %s (pid %" PRIu32 "), ", name_of(root), root->pid);
	add_end(summary, &line, root);
	if (summary->end_ns > summary->start_ns)
		line_add(&line, " after %s", TIME(summary->end_ns - summary->start_ns));
	line_begin(&counts);
	add_counts(&counts, summary);
	if (line.length + 2 + counts.length > SCREEN_WIDTH)
		screen_add(&report->screen, &line);
	line_add(&line, "%s%s", line.length ? ": " : "  ", counts.text);
	screen_wrap(&report->screen, &line, 2, 2);
}

/* ---- the table of classes ---- */

/* A class's words: what came to be, and what has not been given back. */
struct words {
	const char *used, *held;
};

static struct words words_of(enum resource resource)
{
	static const struct words words[RESOURCE_COUNT] = {
		[RESOURCE_NONE] = { "gained", "held" },
		[RESOURCE_MEMORY] = { "alloc", "block" },
		[RESOURCE_FD] = { "opened", "open" },
		[RESOURCE_FILE] = { "opened", "open" },
		[RESOURCE_THREAD] = { "made", "never joined" },
		[RESOURCE_LOCK] = { "taken", "locked" },
		[RESOURCE_MUTEX] = { "made", "not destroyed" },
		[RESOURCE_CONDITION] = { "made", "not destroyed" },
		[RESOURCE_SEMAPHORE] = { "made", "not destroyed" },
		[RESOURCE_EVENT] = { "gained", "held" },
	};

	return words[resource];
}

/* The cells of a row: class, used, most at a time, held at the end. */
#define CELLS	 4
#define ROWS_MAX (RESOURCE_COUNT + OTHERS_MAX)

struct row {
	struct line cells[CELLS];
	uint64_t sites; /* shown where there is room */
};

static void fill_used(struct line *line, const struct summary_class *class)
{
	if (class->known == RESOURCE_MEMORY)
		line_add(line, "%s alloc%s", COUNT(class->gained), PLURAL(class->gained));
	else if (!class->gained && class->waited) /* made without a call: by its initialiser */
		line_add(line, "%s waits", COUNT(class->waited));
	else
		line_add(line, "%s %s", COUNT(class->gained), words_of(class->known).used);
	/* An open that fails is everyday life, and so is a lock that is busy. */
	if (class->failed && (class->known == RESOURCE_MEMORY || class->known == RESOURCE_THREAD))
		line_add(line, ", %s FAILED", COUNT(class->failed));
}

static void fill_peak(const struct report *report, struct line *line,
		      const struct summary_class *class)
{
	if (!class->peak.amount)
		return;
	line_add(line, "%s",
		 class->known == RESOURCE_MEMORY ? BYTES(class->peak.amount)
						 : COUNT(class->peak.amount));
	if (report->summary->has_times)
		line_add(line, " at %s", MOMENT(class->peak.time_ns));
}

static void fill_held_fds(const struct report *report, struct line *line,
			  const struct summary_class *class)
{
	if (!class->held)
		line_add(line, "none");
	else
		line_add(line, "%s %s", COUNT(class->held), words_of(class->known).held);
	if (class->held_parts)
		line_add(line, ", %s by fp", COUNT(class->held_parts));
	if (report->summary->inherited)
		line_add(line, "; %s inherited", COUNT(report->summary->inherited));
}

static void fill_threads(struct line *line, const struct summary_class *class)
{
	if (class->held)
		line_add(line, "%s never joined", COUNT(class->held));
	else
		line_add(line, "none");
	if (class->waited)
		line_add(line, "; %s joined", COUNT(class->waited));
	if (class->lost)
		line_add(line, "%s %s detached", class->waited ? "," : ";", COUNT(class->lost));
}

static void fill_held(const struct report *report, struct line *line,
		      const struct summary_class *class)
{
	if (class->known == RESOURCE_FD) {
		fill_held_fds(report, line, class);
		return;
	}
	if (class->known == RESOURCE_THREAD) {
		fill_threads(line, class);
		return;
	}
	if (!class->held) {
		line_add(line, "none");
		return;
	}
	if (class->known == RESOURCE_MEMORY)
		line_add(line, "%s in %s block%s", BYTES(class->held_bytes), COUNT(class->held),
			 PLURAL(class->held));
	else
		line_add(line, "%s %s", COUNT(class->held), words_of(class->known).held);
}

static bool was_used(const struct report *report, const struct summary_class *class)
{
	/* Programs look for files that are not there, and close the streams that they began with.
	 */
	if (class->known == RESOURCE_FD || class->known == RESOURCE_FILE)
		return class->gained || (class->known == RESOURCE_FD && report->summary->inherited);
	return class->gained || class->waited || class->notified || class->failed;
}

static void fill_row(const struct report *report, struct row *row,
		     const struct summary_class *class)
{
	row->sites = 0;
	for (size_t i = 0; i < CELLS; i++)
		line_begin(&row->cells[i]);
	line_add(&row->cells[0], "  %.20s", class->type);
	fill_used(&row->cells[1], class);
	fill_peak(report, &row->cells[2], class);
	fill_held(report, &row->cells[3], class);
	if (class->known != RESOURCE_FD && class->known != RESOURCE_THREAD)
		row->sites = class->sites;
}

static void fill_title(struct row *row)
{
	static const char *const titles[CELLS] = { "", "used", "most at a time",
						   "held at the end" };

	row->sites = 0;
	for (size_t i = 0; i < CELLS; i++) {
		line_begin(&row->cells[i]);
		line_add(&row->cells[i], "%s", titles[i]);
	}
}

/* Known classes in the order of the table, then a few of those of other tracers. */
static size_t fill_rows(const struct report *report, struct row *rows)
{
	const struct summary *summary = report->summary;
	size_t count = 1, others = 0;

	fill_title(&rows[0]);
	for (enum resource known = RESOURCE_NONE + 1; known < RESOURCE_EVENT; known++) {
		const struct summary_class *class = summary_class_of(summary, known);

		if (class && was_used(report, class))
			fill_row(report, &rows[count++], class);
	}
	for (uint32_t i = 0; i < summary->class_count && others < limit(report, OTHERS_MAX); i++)
		if (summary->classes[i].known == RESOURCE_NONE && ++others)
			fill_row(report, &rows[count++], &summary->classes[i]);
	return count;
}

static void print_row(struct report *report, const struct row *row, const size_t *columns)
{
	struct line line;
	size_t length;

	line_begin(&line);
	for (size_t i = 0; i < CELLS; i++) {
		if (i)
			line_to(&line, columns[i]);
		line_add(&line, "%s", row->cells[i].text);
	}
	length = line.length;
	if (row->sites)
		line_add(&line, ", %s site%s", COUNT(row->sites), PLURAL(row->sites));
	if (line.length > SCREEN_WIDTH)
		line.text[line.length = length] = '\0';
	screen_wrap(&report->screen, &line, columns[CELLS - 1], 2);
}

static void print_classes(struct report *report)
{
	size_t columns[CELLS] = { 0, COLUMN_USED };
	struct row *rows = calloc(ROWS_MAX, sizeof(*rows));
	size_t count = rows ? fill_rows(report, rows) : 0;

	report->screen.is_broken |= !rows;
	for (size_t cell = 1; cell + 1 < CELLS; cell++)
		for (size_t i = 0; i < count; i++)
			if (columns[cell] + rows[i].cells[cell].length + 3 > columns[cell + 1])
				columns[cell + 1] = columns[cell] + rows[i].cells[cell].length + 3;
	for (size_t i = 0; i < count; i++)
		print_row(report, &rows[i], columns);
	free(rows);
}

/* ---- backtraces ---- */

/* Adds frames while the line stays within so many lines of the screen, but one at least. */
static void add_frames(struct report *report, struct line *line, size_t indent, size_t height,
		       const struct atlas_backtrace *backtrace)
{
	struct names_frame frames[FRAMES_MAX];
	size_t count = names_frames(report->names, backtrace, frames, FRAMES_MAX);

	if (!count)
		line_add(line, "(no backtrace)");
	for (size_t i = 0; i < count; i++) {
		size_t length = line->length;

		line_add(line, "%s%s", i ? " <- " : "", frames[i].text);
		if (frames[i].times > 1)
			line_add(line, " (%" PRIu32 "x)", frames[i].times);
		if (!i || line_height(line, indent) <= height)
			continue;
		line->length = length;
		line->text[length] = '\0';
		break;
	}
}

/* ---- waits ---- */

/* Classes that calls wait for most; what else one can wait for goes by its own name elsewhere. */
static const char *waiting_words(enum resource resource)
{
	static const char *const words[RESOURCE_COUNT] = {
		[RESOURCE_LOCK] = "locks",	     [RESOURCE_SEMAPHORE] = "semaphores",
		[RESOURCE_CONDITION] = "conditions", [RESOURCE_THREAD] = "joins",
		[RESOURCE_BARRIER] = "barriers",     [RESOURCE_SEMSET] = "semsets",
		[RESOURCE_PROCESS] = "children",     [RESOURCE_FD] = "files",
	};

	return words[resource] ? words[resource] : "others";
}

static uint64_t sum(const uint64_t *numbers, size_t count)
{
	uint64_t total = 0;

	while (count)
		total += numbers[--count];
	return total;
}

static void print_longest(struct report *report, const struct summary_class *class)
{
	struct line line;

	if (!class->hot.waiter)
		return;
	line_begin(&line);
	line_to(&line, COLUMN_USED);
	line_add(&line, "longest: ");
	add_frames(report, &line, COLUMN_USED + 9, 1, class->hot.waiter);
	screen_add(&report->screen, &line);
	if (!class->hot.other)
		return;
	line_to(&line, COLUMN_USED);
	line_add(&line, class->known == RESOURCE_LOCK ? "held by: " : "woken by: ");
	add_frames(report, &line, COLUMN_USED + 9, 1, class->hot.other);
	screen_add(&report->screen, &line);
}

/* Worth a look: a hundredth of the run, or a tenth of a second. */
static bool is_long(const struct summary *summary, uint64_t ns)
{
	return ns >= 100000000 || ns >= (summary->end_ns - summary->start_ns) / 100;
}

static void print_wait(struct report *report, const struct summary_class *class)
{
	uint64_t threshold = waits_threshold(&class->waits);
	const struct waits_times *times = &class->waits.times;
	uint64_t waits = waits_count(times, threshold);
	struct line line;

	line_begin(&line);
	line_add(&line, "  %s", waiting_words(class->known));
	line_to(&line, COLUMN_USED);
	line_add(&line, "%s of %s waited %s in all, longest %s (over %s)", COUNT(waits),
		 COUNT(sum(times->count, WAITS_STEPS)), TIME(waits_ns(times, threshold)),
		 TIME(times->longest_ns), TIME(threshold));
	screen_wrap(&report->screen, &line, COLUMN_USED, 2);
	/* A join waits for a thread's work: no news. */
	if ((class->known == RESOURCE_LOCK || class->known == RESOURCE_SEMAPHORE) &&
	    report->tight < TIGHTEST && is_long(report->summary, waits_ns(times, threshold)))
		print_longest(report, class);
}

static void print_waits(struct report *report)
{
	static const enum resource order[] = { RESOURCE_LOCK, RESOURCE_SEMAPHORE,
					       RESOURCE_CONDITION, RESOURCE_THREAD };
	size_t title = report->screen.count;
	struct line line;

	line_begin(&line);
	line_add(&line, "waits");
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		const struct summary_class *class = summary_class_of(report->summary, order[i]);

		if (!class || !waits_count(&class->waits.times, waits_threshold(&class->waits)))
			continue;
		if (report->screen.count == title)
			screen_add(&report->screen, &line);
		print_wait(report, class);
	}
}

/* ---- who waits still ---- */

static const char *object_word(enum resource resource)
{
	/* A lock that somebody waits for is a mutex, as often as not. */
	if (resource == RESOURCE_LOCK)
		return "mutex";
	return resource && resource != RESOURCE_EVENT ? resource_table[resource].type : "object";
}

static void print_holder(struct report *report, const struct summary_blocked *blocked)
{
	struct line line;

	if (!blocked->has_holder)
		return;
	line_begin(&line);
	line_to(&line, 6);
	if (blocked->holder == blocked->thread)
		line_add(&line, "held by itself: taken at ");
	else
		line_add(&line, "held by thread %" PRIu32 ": taken at ", blocked->holder);
	add_frames(report, &line, 8, 2, blocked->holder_backtrace);
	screen_wrap(&report->screen, &line, 8, 2);
}

static void print_blocked(struct report *report, const struct summary_blocked *blocked)
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
		line_add(&line, " for %s 0x%" PRIx64, object_word(blocked->resource),
			 blocked->object);
	line_add(&line, " for %s", TIME(blocked->longest_ns));
	screen_wrap(&report->screen, &line, 6, 2);
	line_to(&line, 6);
	line_add(&line, "at ");
	add_frames(report, &line, 8, 2, blocked->backtrace);
	screen_wrap(&report->screen, &line, 8, 2);
	print_holder(report, blocked);
}

static void print_all_blocked(struct report *report)
{
	const struct summary *summary = report->summary;
	size_t count = summary->blocked.count;
	struct line line;

	if (!count)
		return;
	line_begin(&line);
	if (summary->deadlocked)
		line_add(&line, "DEADLOCK of %s thread%s; waiting when it ended",
			 COUNT(summary->deadlocked), PLURAL(summary->deadlocked));
	else
		line_add(&line, "waiting when it ended");
	if (count > limit(report, BLOCKED_MAX))
		line_add(&line, " (%zu of %s)", limit(report, BLOCKED_MAX), COUNT(count));
	screen_add(&report->screen, &line);
	for (size_t i = 0; i < count && i < limit(report, BLOCKED_MAX); i++)
		print_blocked(report, &summary->blocked.items[i]);
}

/* ---- what is held, by site ---- */

static const char *thing_of(const struct summary_class *class)
{
	static const char *const things[RESOURCE_COUNT] = {
		[RESOURCE_FD] = "fd",
		[RESOURCE_FILE] = "stream",
		[RESOURCE_THREAD] = "thread",
		[RESOURCE_LOCK] = "lock",
		[RESOURCE_MUTEX] = "mutex",
		[RESOURCE_CONDITION] = "condition",
		[RESOURCE_SEMAPHORE] = "semaphore",
	};

	return things[class->known] ? things[class->known] : class->type;
}

static void add_amount(const struct report *report, struct line *line,
		       const struct summary_site *site)
{
	const struct summary_class *class = &report->summary->classes[site->class];
	const char *thing = thing_of(class);
	const char *plural = class->known == RESOURCE_MUTEX ? "es" : "s";

	if (class->known == RESOURCE_MEMORY)
		line_add(line, "%s in %s block%s", EXACT(site->bytes), COUNT(site->count),
			 PLURAL(site->count));
	else
		line_add(line, "%s %.20s%s", COUNT(site->count), thing,
			 site->count == 1 ? "" : plural);
}

/* The path of one of them: behind the amount if it is short. */
static bool has_short_example(const struct summary_site *site)
{
	return site->example && strlen(site->example) <= 16 && !site->has_more_examples;
}

static void print_example(struct report *report, const struct summary_site *site, size_t column)
{
	size_t length = site->example ? strlen(site->example) : 0;
	size_t room = SCREEN_WIDTH - column - 14;
	struct line line;

	if (!length || has_short_example(site))
		return;
	line_begin(&line);
	line_to(&line, column);
	line_add(&line, "%s%s%s", length > room ? "..." : "",
		 site->example + (length > room ? length - room + 3 : 0),
		 site->has_more_examples ? " and others" : "");
	screen_add(&report->screen, &line);
}

static void print_site(struct report *report, const struct summary_site *site, size_t rank,
		       size_t column)
{
	struct line line;

	line_begin(&line);
	line_add(&line, "%4zu. ", rank);
	add_amount(report, &line, site);
	if (has_short_example(site))
		line_add(&line, " %s", site->example);
	line_to(&line, column);
	add_frames(report, &line, column, 2, site->backtrace);
	screen_wrap(&report->screen, &line, column, 2);
	print_example(report, site, column);
}

/* Where the backtraces begin: behind the widest amount. */
static size_t site_column(const struct report *report, const uint32_t *chosen, size_t count)
{
	size_t column = 20;

	for (size_t i = 0; i < count; i++) {
		const struct summary_site *site = &report->summary->sites.items[chosen[i]];
		struct line line;
		size_t length;

		line_begin(&line);
		add_amount(report, &line, site);
		length = line.length + (has_short_example(site) ? 1 + strlen(site->example) : 0);
		if (length > AMOUNT_WIDTH_MAX)
			length = AMOUNT_WIDTH_MAX;
		if (COLUMN_AMOUNT + length + 2 > column)
			column = COLUMN_AMOUNT + length + 2;
	}
	return column;
}

static uint64_t count_sites(const struct summary *summary)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < summary->class_count; i++)
		count += summary->classes[i].sites;
	return count;
}

static void print_chosen(struct report *report, const uint32_t *chosen, size_t count)
{
	size_t column = site_column(report, chosen, count);
	uint64_t all = count_sites(report->summary);
	struct line line;

	line_begin(&line);
	line_add(&line, "held at the end, and who gained it");
	if (all > count)
		line_add(&line, " (%zu of %s sites)", count, COUNT(all));
	screen_add(&report->screen, &line);
	for (size_t i = 0; i < count; i++)
		print_site(report, &report->summary->sites.items[chosen[i]], i + 1, column);
}

/* As many sites as fit into so many lines, but one at least. */
static void print_sites(struct report *report, size_t room)
{
	struct screen above = report->screen;
	uint32_t chosen[SITES_MAX];

	if (!count_sites(report->summary))
		return;
	for (size_t wanted = SITES_MAX; wanted; wanted--) {
		report->screen = (struct screen){ 0 };
		names_restart(report->names);
		print_chosen(report, chosen, summary_top(report->summary, wanted, chosen));
		if (report->screen.count <= room || wanted == 1)
			break;
		screen_free(&report->screen);
	}
	screen_move(&above, &report->screen);
	report->screen = above;
}

/* ---- further processes ---- */

static void print_process(struct report *report, const struct summary_process *process)
{
	uint64_t fds = process->held[RESOURCE_FD];
	struct line line;

	line_begin(&line);
	line_add(&line, "  %-7" PRIu32 " %.20s, ", process->pid, name_of(process));
	add_end(report->summary, &line, process);
	line_add(&line, ": %s event%s", COUNT(process->events), PLURAL(process->events));
	if (process->peak_bytes != process->held_bytes)
		line_add(&line, ", peak %s", BYTES(process->peak_bytes));
	if (process->held_bytes)
		line_add(&line, ", holds %s", BYTES(process->held_bytes));
	if (fds)
		line_add(&line, ", %s fd%s", COUNT(fds), PLURAL(fds));
	screen_wrap(&report->screen, &line, COLUMN_USED, 2);
}

static void print_processes(struct report *report)
{
	const struct summary *summary = report->summary;
	size_t count = summary->processes.count;
	struct line line;

	if (count < 2)
		return;
	line_begin(&line);
	line_add(&line, "processes");
	if (count > limit(report, PROCESSES_MAX))
		line_add(&line, " (%zu of %s)", limit(report, PROCESSES_MAX), COUNT(count));
	screen_add(&report->screen, &line);
	for (size_t i = 0; i < count && i < limit(report, PROCESSES_MAX); i++)
		print_process(report, &summary->processes.items[i]);
}

/* ---- what is missing ---- */

/* The next step: for a stripped file the tool that knows the package. */
static const char *advice_for(const struct names_missing *missing)
{
	if (missing->text && strstr(missing->text, "stripped"))
		return "install its -dbgsym package (Debian: find-dbgsym-packages names it) or "
		       "build it with -g";
	return missing->advice;
}

static void print_missing(struct report *report)
{
	struct names_missing missing;
	struct line line;

	line_begin(&line);
	for (size_t i = 0;
	     i < limit(report, MISSING_MAX) && names_missing(report->names, i, &missing); i++) {
		line_add(&line, "MISSING  %s", missing.path);
		if (missing.text)
			line_add(&line, " %s", missing.text);
		line_add(&line, ": %s of %s frames without names;", COUNT(missing.unnamed),
			 COUNT(missing.shown));
		if (*missing.build_id)
			line_add(&line, " build-id %s;", missing.build_id);
		if (advice_for(&missing))
			line_add(&line, " %s", advice_for(&missing));
		screen_wrap(&report->screen, &line, 9, 4);
	}
}

static void print_cut(struct report *report)
{
	const struct summary *summary = report->summary;
	size_t count = 0;
	struct line line;

	for (size_t i = 0; i < summary->processes.count && count < limit(report, CUT_MAX); i++) {
		const struct summary_process *process = &summary->processes.items[i];

		if (is_complete(process) || (!process->has_tails && !process->is_damaged))
			continue;
		count++;
		line_begin(&line);
		line_add(&line, "INCOMPLETE  %s (pid %" PRIu32 "): ", name_of(process),
			 process->pid);
		if (process->is_damaged)
			line_add(&line, "the trace is damaged (%s), what is good was used",
				 process->damage ? process->damage : "?");
		else
			line_add(&line, "the trace has no end: the recording was cut off, or it "
					"still goes on; what is held may have been given back");
		screen_wrap(&report->screen, &line, 12, 2);
	}
}

static void print_lost(struct report *report)
{
	struct line line;

	if (!report->summary->lost)
		return;
	line_begin(&line);
	line_add(&line,
		 "LOST  events are missing, so what seems to be held may have been given back: "
		 "record again with --lossless");
	screen_wrap(&report->screen, &line, 6, 2);
}

static void print_nothing(struct report *report)
{
	struct line line;

	line_begin(&line);
	if (all_complete(report->summary))
		line_add(&line,
			 "No events, though it was traced from its start to its end: it called "
			 "nothing that holdtrace hooks, or not through the C library, or "
			 "--events left nothing over.");
	else
		line_add(&line,
			 "No events, and no word of an end: recording never began, or was cut "
			 "off before the first one was written.");
	screen_wrap(&report->screen, &line, 2, 4);
}

/* ---- the last lines ---- */

/* Whose trace is worth looking at first. */
static const struct summary_process *heaviest(const struct summary *summary)
{
	const struct summary_process *found = last_image(summary);

	for (size_t i = 0; i < summary->processes.count; i++)
		if (summary->processes.items[i].held_bytes > found->held_bytes)
			found = &summary->processes.items[i];
	return found;
}

static void print_next(struct report *report)
{
	const struct summary *summary = report->summary;
	const char *path = heaviest(summary)->path;
	bool has_held = summary->sites.count != 0;
	struct line line;

	if (!path || !*path)
		return;
	line_begin(&line);
	line_add(&line, "next:  %s %s %s", program_invocation_name,
		 has_held ? "-lcr -s size" : "-r", path);
	screen_add(&report->screen, &line);
	line_add(&line, "trace: %s", path);
	if (summary->processes.count > 1)
		line_add(&line, " and %zu more", summary->processes.count - 1);
	screen_add(&report->screen, &line);
}

/* ---- all of it ---- */

/* What stands below the sites is made before them: they get the room that is left. */
static void compose(struct report *report)
{
	struct screen top, bottom;
	size_t used;

	print_verdict(report);
	if (!report->summary->events)
		print_nothing(report);
	if (report->summary->deadlocked)
		print_all_blocked(report);
	if (report->summary->events)
		print_classes(report);
	if (!report->summary->deadlocked)
		print_all_blocked(report);
	print_waits(report);
	top = report->screen;
	report->screen = (struct screen){ 0 };
	print_processes(report);
	print_lost(report);
	print_cut(report);
	bottom = report->screen;
	report->screen = top;
	/* The last two lines, and two of those that only the sites' names tell of. */
	used = top.count + bottom.count + 2 + 4;
	print_sites(report, used + 3 < REPORT_LINES_MAX ? REPORT_LINES_MAX - used : 3);
	screen_move(&report->screen, &bottom);
	print_missing(report);
	print_next(report);
}

int report_print(const struct summary *summary, struct out *out, struct error *err)
{
	struct report report = { .summary = summary };
	int rc;

	if (!summary->processes.count)
		return 0;
	rc = names_create(&report.names, summary, err);
	if (rc)
		return rc;
	compose(&report);
	while (report.screen.count > REPORT_LINES_MAX && report.tight < TIGHTEST) {
		report.tight++;
		screen_free(&report.screen);
		compose(&report);
	}
	screen_print(&report.screen, out);
	if (report.screen.is_broken)
		rc = error_set(err, ENOMEM, "no memory for the screen");
	screen_free(&report.screen);
	names_destroy(report.names);
	return rc;
}
