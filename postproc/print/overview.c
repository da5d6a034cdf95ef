/* SPDX-License-Identifier: MIT */
#include "overview.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/invocation.h"
#include "base/memory.h"
#include "postproc/totals/selection.h"
#include "postproc/findings/findings.h"
#include "postproc/report/report.h"
#include "overview_parts.h"
#include "trace/bundle.h"

#define FRAMES_MAX  6
#define MISSING_MAX 3

/* ---- shared by the parts ---- */

const char *overview_name(const struct summary_process *process)
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

void overview_frames(struct overview *overview, struct line *line, size_t indent, size_t height,
		     const struct trace_node *backtrace, uint64_t sites, const char *behind)
{
	struct naming_line frames[FRAMES_MAX];
	size_t site, count = naming_site(overview->naming, backtrace, frames, FRAMES_MAX, &site);

	if (!count)
		line_add(line, "(no backtrace)");
	for (size_t i = 0; i < (sites > 1 ? site : count); i++) {
		size_t before = line->length, after;

		naming_fit(&frames[i], sites < 2, overview->screen.width - indent - strlen("<- "));
		line_add(line, "%s%s", i ? " <- " : "", frames[i].text);
		after = line->length;
		line_add(line, "%s", behind);
		if (i >= site && line_height(&overview->screen, line, indent) > height) {
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
		if (!overview_is_complete(&summary->processes.items[i]))
			return false;
	return true;
}

/* Stands beside the numbers, as none of them includes the damaged part. */
static void add_damaged(struct line *line, const struct summary *summary)
{
	if (summary->damaged && summary->processes.count > 1)
		line_add(line, ", %s of %zu traces DAMAGED", COUNT(summary->damaged),
			 summary->processes.count);
	else if (summary->damaged)
		line_add(line, ", DAMAGED");
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
	add_damaged(line, summary);
}

static void print_verdict(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	const struct summary_process *root = images_last(summary);
	uint64_t begin_ns = summary->processes.items[0].start_ns;
	struct line line, counts;

	line_begin(&line);
	line_add(&line, "holdtrace: %s (pid %" PRIu32 "), ", overview_name(root), root->pid);
	overview_end(summary, &line, root, root->end_ns > begin_ns ? root->end_ns - begin_ns : 0);
	line_begin(&counts);
	add_counts(&counts, summary);
	if (line.length + 2 + counts.length > overview->screen.width)
		screen_wrap(&overview->screen, &line, 2);
	line_add(&line, "%s%s", line.length ? ": " : "  ", counts.text);
	screen_wrap(&overview->screen, &line, 2);
}

/* ---- dropped events and missing names ---- */

/* In how many events the module has a frame: that matters for every report. */
static void add_share(struct line *line, double percent)
{
	if (percent > 0 && percent < 0.1)
		line_add(line, " in less than 0.1 %% of the events;");
	else
		line_add(line, " in %.*f %% of the events;", percent < 10, percent);
}

static void print_module(struct overview *overview, const struct naming_missing *missing)
{
	const struct summary *summary = overview->summary;
	struct line line;

	line_begin(&line);
	line_add(&line, "MISSING  %s", missing->module->path);
	if (missing->text)
		line_add(&line, " %s", missing->text);
	line_add(&line, ": %s of %s frames without names;", COUNT(missing->unnamed),
		 COUNT(missing->shown));
	add_share(&line, touched_percent(&summary->touched, missing->module, summary->events));
	if (*missing->build_id)
		line_add(&line, " build-id %s;", missing->build_id);
	if (missing->advice)
		line_add(&line, " %s", missing->advice);
	screen_wrap(&overview->screen, &line, 9);
}

/* Modules whose names can be obtained, the most useful first. */
static void print_missing(struct overview *overview)
{
	struct naming_missing missing[MISSING_MAX];
	size_t most = overview_limit(overview, MISSING_MAX);
	size_t count = naming_missing(overview->naming, missing, most);

	for (size_t i = 0; i < count && i < most && !missing[i].is_exhausted; i++)
		print_module(overview, &missing[i]);
}

/* Whether a ring was full: only then does waiting for the collector help. */
static bool was_full(const struct summary *summary)
{
	for (size_t i = 0; i < summary->losses.count; i++)
		if (!strcmp(summary->losses.items[i].reason, "full"))
			return true;
	return false;
}

static void print_lost(struct overview *overview)
{
	struct line line;

	if (!overview->summary->lost)
		return;
	line_begin(&line);
	line_add(&line,
		 "LOST  events are missing, so what seems to be held may have been given back: %s",
		 was_full(overview->summary) ? "record again with --patience=forever"
					     : "report info says why");
	screen_wrap(&overview->screen, &line, 6);
}

/* Events that came after the low watermark had passed them. */
static void print_late(struct overview *overview)
{
	struct line line;

	if (!overview->summary->late)
		return;
	line_begin(&line);
	line_add(&line,
		 "LATE  %s event%s came after later ones had been written: what was given back and "
		 "taken again meanwhile may be told in the wrong order",
		 COUNT(overview->summary->late), PLURAL(overview->summary->late));
	screen_wrap(&overview->screen, &line, 6);
}

static bool has_filters(const struct overview *overview)
{
	return overview->summary->selection && overview->summary->selection->filters;
}

static void print_selection(struct overview *overview)
{
	struct line line;

	if (!has_filters(overview))
		return;
	line_begin(&line);
	line_add(&line, "  only  ");
	line_add_selection(&line, overview->summary->selection);
	screen_wrap(&overview->screen, &line, 8);
}

/* Precedes the first number, as no number includes the damaged part. */
static void print_damage(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	struct line line;

	if (!summary->damaged)
		return;
	line_begin(&line);
	line_add(&line, "DAMAGED  a part of %s could not be read, and is in no number here",
		 summary->processes.count > 1 ? "the traces" : "the trace");
	screen_wrap(&overview->screen, &line, 9);
}

/* Which part of the program's life was recorded, if its end was. */
static const char *recorded_part(const struct summary *summary)
{
	for (size_t i = 0; i < summary->processes.count; i++)
		if (summary->processes.items[i].is_attached)
			return "was recorded from when it was attached to";
	return "was traced from its start to its end";
}

static bool was_paused(const struct summary *summary)
{
	for (size_t i = 0; i < summary->processes.count; i++)
		if (summary->processes.items[i].pauses)
			return true;
	return false;
}

static void print_nothing(struct overview *overview)
{
	struct line line;

	line_begin(&line);
	if (has_filters(overview))
		line_add(&line, "The filters left nothing over.");
	else if (overview->summary->sample)
		line_add(&line, "No events: memory was recorded by samples, and no block was one.");
	else if (was_paused(overview->summary))
		line_add(&line, "No events: recording was off (--start=off, holdtrace ctl stop) "
				"while it called something; `holdtrace ctl PID start` begins it.");
	else if (all_complete(overview->summary))
		line_add(&line,
			 "No events, though it %s: it called nothing that holdtrace hooks, or not "
			 "through the C library, or --events left nothing over.",
			 recorded_part(overview->summary));
	else
		line_add(&line,
			 "No events, and no word of an end: recording never began, or was cut "
			 "off before the first one was written.");
	screen_wrap(&overview->screen, &line, 2);
}

/* ---- the last lines ---- */

/* Adds "holdtrace report" as the user has to call it. */
static void add_report(struct line *line, const char *what)
{
	const char *own = program_invocation_name, *end = strstr(own, "-postproc");
	bool is_ours = invocation_is_launcher() || (end && !end[strlen("-postproc")]);
	char word[SCREEN_LINE_MAX];

	if (end && !end[strlen("-postproc")])
		snprintf(word, sizeof(word), "%.*s", (int)(end - own), own);
	else
		snprintf(word, sizeof(word), "%s", own);
	line_add_word(line, word);
	line_add(line, is_ours ? " report %s" : " --report=%s", what);
}

/* The length of the file's part of a trace's path: streams of a bundle have a number after it. */
static size_t file_length(const char *path)
{
	size_t length, stream;

	return bundle_split_name(path, &length, &stream) && access(path, F_OK) ? length
									       : strlen(path);
}

/* Counts files; streams of a file are adjacent. */
static size_t count_files(const struct summary *summary)
{
	const char *before = "";
	size_t count = 0, length = 0;

	for (size_t i = 0; i < summary->processes.count; i++) {
		const char *path = summary->processes.items[i].path;
		size_t size = file_length(path);

		count += size != length || strncmp(path, before, size) != 0;
		before = path;
		length = size;
	}
	return count;
}

/* Length of the path of the directory that all files of the run are in; 0: they are in several. */
static size_t common_directory(const struct summary *summary)
{
	const char *first = summary->processes.items[0].path, *slash = strrchr(first, '/');
	size_t length = slash ? (size_t)(slash - first) + 1 : 0;

	for (size_t i = 1; i < summary->processes.count; i++) {
		const char *path = summary->processes.items[i].path;

		slash = strrchr(path, '/');
		if (!slash || (size_t)(slash - path) + 1 != length ||
		    strncmp(path, first, length) != 0)
			return 0;
	}
	return length;
}

/* Adds a file, in a new line after a backslash if this line is too long. */
static void add_file(struct overview *overview, struct line *line, const char *path, size_t length)
{
	cleanup_free char *name = memory_text_part(path, length);
	struct line file;

	line_begin(&file);
	line_add_word(&file, name);
	if (line->length + 1 + file.length > overview->screen.width) {
		line_add(line, " \\");
		screen_add(&overview->screen, line);
		line_to(line, 7);
		line_add(line, "%s", file.text);
	} else {
		line_add(line, " %s", file.text);
	}
}

/*
 * Names the trace of the first call site with live objects; of the newest run all files, or their
 * directory.
 */
static void print_next(struct overview *overview, const char *path)
{
	const struct summary *summary = overview->summary;
	size_t directory =
		overview->is_newest && count_files(summary) > 1 ? common_directory(summary) : 0;
	const char *before = "";
	struct line line;

	line_begin(&line);
	line_add(&line, "next:  ");
	add_report(&line, findings_report(summary, &overview->leaks));
	if (!overview->is_newest || count_files(summary) == 1)
		add_file(overview, &line, path, strlen(path));
	else if (directory)
		add_file(overview, &line, summary->processes.items[0].path, directory);
	else
		for (size_t i = 0; i < summary->processes.count; i++) {
			const char *own = summary->processes.items[i].path;
			size_t length = file_length(own);

			if (length != file_length(before) || strncmp(own, before, length) != 0)
				add_file(overview, &line, own, length);
			before = own;
		}
	screen_add(&overview->screen, &line);
}

static void print_trace(struct overview *overview, const char *path)
{
	const struct summary *summary = overview->summary;
	struct line line;

	line_begin(&line);
	line_add(&line, "trace: %s", path);
	if (count_files(summary) > 1)
		line_add(&line, " and %zu more", count_files(summary) - 1);
	screen_wrap(&overview->screen, &line, 7);
}

static void print_traces(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	const struct summary_process *process = summary_process_at(summary, overview->first);
	bool has_held = summary->sites.count != 0 && process;
	const char *of = has_held ? process->path : images_last(summary)->path;
	cleanup_free char *path = of ? memory_text_part(of, file_length(of)) : NULL;

	if (!path || !*path)
		return;
	if (summary->events)
		print_next(overview, path);
	print_trace(overview, path);
}

/* ---- all of it ---- */

/* Lines below the sites are made before them, so that sites get the remaining room. */
static void compose(struct overview *overview)
{
	struct screen top, bottom;
	size_t used;

	print_verdict(overview);
	print_selection(overview);
	print_damage(overview);
	if (!overview->summary->events)
		print_nothing(overview);
	if (overview->summary->deadlocked)
		overview_blocked(overview);
	if (overview->summary->events)
		overview_table(overview);
	if (!overview->summary->deadlocked)
		overview_blocked(overview);
	overview_waits(overview);
	overview_unusual(overview);
	top = overview->screen;
	overview->screen = (struct screen){ .width = overview->screen.width };
	overview_processes(overview);
	overview_left_out(overview);
	print_lost(overview);
	print_late(overview);
	overview_doubts(overview);
	overview_untraced(overview);
	overview_spawned(overview);
	overview_attached(overview);
	overview_kept(overview);
	overview_unchosen(overview);
	overview_cut(overview);
	bottom = overview->screen;
	overview->screen = top;
	/* The last two lines, and two that print_missing() may add after the sites are named. */
	used = top.count + bottom.count + 2 + 4;
	overview_sites(overview, used + 3 < OVERVIEW_LINES_MAX ? OVERVIEW_LINES_MAX - used : 3);
	screen_move(&overview->screen, &bottom);
	print_missing(overview);
	print_traces(overview);
}

/*
 * Sizes the lists for a terminal of usual width: other widths show the same rows in more or fewer
 * lines.
 */
static void print(struct overview *overview, size_t width, struct out *out)
{
	overview->screen.width = SCREEN_WIDTH_USUAL;
	compose(overview);
	while (overview->screen.count > OVERVIEW_LINES_MAX && overview->tight < OVERVIEW_TIGHTEST) {
		overview->tight++;
		screen_free(&overview->screen);
		compose(overview);
	}
	if (width != SCREEN_WIDTH_USUAL) {
		screen_free(&overview->screen);
		overview->screen.width = width;
		overview->has_rows = true;
		compose(overview);
	}
	screen_print(&overview->screen,
		     !overview->has_colour    ? SCREEN_PLAIN
		     : overview->has_no_leaks ? SCREEN_COLOURS
					      : SCREEN_COLOURS_OF_LEAKS,
		     out);
	screen_free(&overview->screen);
}

int overview_print(const struct summary *summary, struct naming *naming,
		   const struct report_options *options, const struct overview_style *style,
		   struct out *out, struct error *err)
{
	struct overview overview = {
		.summary = summary,
		.naming = naming,
		.is_newest = style->is_newest,
		.has_colour = style->has_colour,
		.first = UINT32_MAX,
	};
	int rc;

	if (!summary->processes.count)
		return 0;
	naming_restart(naming);
	rc = suppress_fill(&overview.suppress, options, err);
	if (rc == 0 && summary->causes)
		causes_fold(summary->causes, naming);
	if (rc == 0)
		print(&overview, screen_width(style->width), out);
	suppress_free(&overview.suppress);
	naming_restart(naming);
	return rc;
}
