/* SPDX-License-Identifier: MIT */
#include "postproc/writers/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "postproc/writers/report_parts.h"

#define FRAMES_MAX  6
#define MISSING_MAX 3

/* ---- shared by the parts ---- */

const struct summary_process *report_last_image(const struct summary *summary)
{
	const struct summary_process *last = &summary->processes.items[0];

	for (size_t i = 1; i < summary->processes.count; i++)
		if (summary->processes.items[i].pid == last->pid)
			last = &summary->processes.items[i];
	return last;
}

const char *report_name(const struct summary_process *process)
{
	const char *name = process->name && *process->name ? process->name : "program";
	const char *slash = strrchr(name, '/');

	return slash && slash[1] ? slash + 1 : name;
}

static void cut(struct line *line, size_t length)
{
	line->length = length;
	line->text[length] = '\0';
}

void report_frames(struct report *report, struct line *line, size_t indent, size_t height,
		   const struct atlas_backtrace *backtrace, const char *behind)
{
	struct names_frame frames[FRAMES_MAX];
	size_t count = names_frames(report->names, backtrace, frames, FRAMES_MAX);

	if (!count)
		line_add(line, "(no backtrace)");
	for (size_t i = 0; i < count; i++) {
		size_t before = line->length, after;

		line_add(line, "%s%s", i ? " <- " : "", frames[i].text);
		if (frames[i].times > 1)
			line_add(line, " (%" PRIu32 "x)", frames[i].times);
		after = line->length;
		line_add(line, "%s", behind);
		if (i && line_height(line, indent) > height) {
			cut(line, before);
			break;
		}
		cut(line, after);
	}
	line_add(line, "%s", behind);
}

/* ---- the first line ---- */

static bool all_complete(const struct summary *summary)
{
	for (size_t i = 0; i < summary->processes.count; i++)
		if (!report_is_complete(&summary->processes.items[i]))
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
		line_add(line, "%s processes", COUNT(summary->pids));
	if (summary->processes.count > summary->pids)
		line_add(line, summary->pids > 1 ? " (%s programs)" : "%s programs",
			 COUNT(summary->processes.count));
	if (summary->processes.count > 1)
		line_add(line, ", ");
	if (summary->threads)
		line_add(line, "%s thread%s, ", COUNT(summary->threads), PLURAL(summary->threads));
	line_add(line, "%s event%s", COUNT(summary->events), PLURAL(summary->events));
	add_lost(line, summary);
}

static void print_verdict(struct report *report)
{
	const struct summary *summary = report->summary;
	const struct summary_process *root = report_last_image(summary);
	uint64_t begin_ns = summary->processes.items[0].start_ns;
	struct line line, counts;

	line_begin(&line);
	line_add(&line, "holdtrace: %s (pid %" PRIu32 "), ", report_name(root), root->pid);
	report_end(summary, &line, root);
	if (root->end_ns > begin_ns)
		line_add(&line, " after %s", DURATION(root->end_ns - begin_ns));
	line_begin(&counts);
	add_counts(&counts, summary);
	if (line.length + 2 + counts.length > SCREEN_WIDTH)
		screen_wrap(&report->screen, &line, 2, 2);
	line_add(&line, "%s%s", line.length ? ": " : "  ", counts.text);
	screen_wrap(&report->screen, &line, 2, 2);
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
	     i < report_limit(report, MISSING_MAX) && names_missing(report->names, i, &missing);
	     i++) {
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

/* What a shell takes as it stands. */
static bool is_plain(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || (byte && strchr("_-./:@%+=,", byte));
}

static bool is_all(const char *text, bool (*is_so)(char))
{
	for (; *text; text++)
		if (!is_so(*text))
			return false;
	return *text == '\0';
}

static bool is_printed(char byte)
{
	return byte >= ' ' && byte <= '~';
}

/*
 * A word for the shell. What is no printable ASCII, screen_print() writes as \x.., which $'' takes.
 */
static void add_word(struct line *line, const char *text)
{
	bool is_printable = is_all(text, is_printed);

	if (*text && is_all(text, is_plain)) {
		line_add(line, "%s", text);
		return;
	}
	line_add(line, is_printable ? "'" : "$'");
	for (; *text; text++) {
		if (*text == '\'')
			line_add(line, is_printable ? "'\\''" : "\\'");
		else if (*text == '\\' && !is_printable)
			line_add(line, "\\\\");
		else
			line_add(line, "%c", *text);
	}
	line_add(line, "'");
}

/* The trace with the place that stands first among those of what is held. */
static void print_next(struct report *report)
{
	const struct summary *summary = report->summary;
	const struct summary_process *process = summary_process_at(summary, report->first);
	bool has_held = summary->sites.count != 0 && process;
	const char *path = has_held ? process->path : report_last_image(summary)->path;
	struct line line;

	if (!path || !*path)
		return;
	line_begin(&line);
	line_add(&line, "next:  ");
	add_word(&line, program_invocation_name);
	line_add(&line, has_held ? " -lcr -s size " : " -r ");
	add_word(&line, path);
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
		report_blocked(report);
	if (report->summary->events)
		report_table(report);
	if (!report->summary->deadlocked)
		report_blocked(report);
	report_waits(report);
	top = report->screen;
	report->screen = (struct screen){ 0 };
	report_processes(report);
	print_lost(report);
	report_untraced(report);
	report_cut(report);
	bottom = report->screen;
	report->screen = top;
	/* The last two lines, and two of those that only the sites' names tell of. */
	used = top.count + bottom.count + 2 + 4;
	report_sites(report, used + 3 < REPORT_LINES_MAX ? REPORT_LINES_MAX - used : 3);
	screen_move(&report->screen, &bottom);
	print_missing(report);
	print_next(report);
}

int report_print(const struct summary *summary, struct out *out, struct error *err)
{
	struct report report = { .summary = summary, .first = UINT32_MAX };
	int rc;

	if (!summary->processes.count)
		return 0;
	rc = names_create(&report.names, summary, err);
	if (rc)
		return rc;
	compose(&report);
	while (report.screen.count > REPORT_LINES_MAX && report.tight < REPORT_TIGHTEST) {
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
