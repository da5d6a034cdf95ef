/* SPDX-License-Identifier: MIT */
#include "report_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/invocation.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "base/terminal.h"
#include "postproc/print/screen.h"

#define TOP_OF_TEXT 20

/* ---- streams ---- */

int plan_check_directory(const struct output *output, const struct writer *writer,
			 struct error *err)
{
	struct stat facts;

	/* a format that writes a directory makes that directory itself */
	if (!output->directory || writer->flags & FORMAT_DIRECTORY)
		return 0;
	if (stat(output->directory, &facts) != 0)
		return error_system(err, errno, "-o %s: create the directory first",
				    output->directory);
	if (!S_ISDIR(facts.st_mode))
		return error_set(
			err, ENOTDIR,
			"-o %s: not a directory; to write a file, redirect the output with >",
			output->directory);
	return 0;
}

int plan_check_selection(const struct select_options *options, struct error *err)
{
	struct select *select;
	int rc = select_create(&select, options, err);

	if (rc == 0)
		select_destroy(select);
	return rc;
}

static const char *select_problem(const struct options *options, const struct writer *writer)
{
	if (writer->flags & FORMAT_DIRECTORY &&
	    (!options->directory || !strcmp(options->directory, "stdout")))
		return "this format writes several files: add -o DIR";
	if (options->merge && !(writer->flags & FORMAT_MERGED))
		return "this format describes one process: remove --merge";
	if (options->merge && options->resolve)
		return "-r resolves one process at a time: remove --merge";
	return NULL;
}

/* Fills `select` from the options. The selection counts calls in `tally`. */
static void plan_selection(struct select_options *select, struct select_tally *tally,
			   const struct options *options)
{
	*tally = (struct select_tally){ .filters = *options->filters ? options->filters : NULL };
	*select = (struct select_options){
		.tally = tally,
		.classes = options->class,
		.has_contexts = options->contexts.is_set,
		.contexts = options->contexts.value,
		.depth = options->depth.is_set && options->depth.value <= INT32_MAX
				 ? (int64_t)options->depth.value
				 : -1,
		.calls = options->calls,
		.functions = options->functions,
		.paths = options->targets,
		.modules = options->modules,
		.thread = options->thread,
		.size = options->size,
		.process = options->process,
	};
}

int plan_writer(const struct writer **writer, const struct options *options, struct error *err)
{
	const char *problem;
	uint64_t size;

	*writer = options->format ? writer_find(options->format) : writer_at(0);
	if (!*writer) {
		const char *word = options->format;
		struct suggest suggest;

		for (unsigned i = 0; tables_at(i); i++)
			if (!strcmp(tables_at(i)->name, word))
				return error_set(
					err, EINVAL,
					"--format=%s: this format is for reports: add --report=%s",
					word,
					tables_at(i)->kind == FORMAT_VIEWER ? "summary" : "WHAT");
		suggest_begin(&suggest, word, strlen(word));
		for (unsigned i = 0; writer_at(i); i++)
			suggest_try(&suggest, writer_at(i)->name);
		return error_set(err, EINVAL,
				 "--format=%s: no such format%s; --format=list lists all formats",
				 word, suggest_text(&suggest));
	}
	if (format_check_words(*writer, options->words, &size, err))
		return -EINVAL;
	problem = select_problem(options, *writer);
	return problem ? error_set(err, EINVAL, "%s", problem) : 0;
}

int plan_pass(struct pass_options *pass, struct output *output, struct select_tally *tally,
	      const struct options *options, struct error *err)
{
	struct select_options *select = &pass->reading.select;

	output->directory = options->directory;
	if (options->directory && !strcmp(options->directory, "stdout"))
		output->directory = NULL;
	output->suffix = pass->writer->suffix;
	output->is_resolved = options->resolve;
	output->is_quiet = options->quiet;
	pass->remove_arguments = options->remove_args;
	pass->is_leaks = options->leaks;
	pass->is_compressed = options->compress;
	pass->is_reordered =
		pass->writer == writer_at(0) &&
		(format_has_word(options->words, "sp-rtrace") || invocation_is_sp_rtrace());
	pass->reading.is_merged = options->merge || pass->writer->flags & FORMAT_ONE;
	pass->force = options->force;
	pass->words = options->words;
	pass->output = output;
	plan_selection(select, tally, options);
	select->is_whole = options->leaks || pass->writer != writer_at(0);
	select->min_age_ns = options->min_age.value;

	const char *by = options->by;
	static const char *const words[] = { [SORT_SIZE] = "size",
					     [SORT_SIZE_ASC] = "size-asc",
					     [SORT_COUNT] = "count",
					     [SORT_COUNT_ASC] = "count-asc" };

	pass->order = SORT_SIZE_ASC;
	for (size_t i = 0; by && i < sizeof(words) / sizeof(*words); i++) {
		pass->order = (enum sort_order)i;
		if (!strcmp(words[i], by))
			return 0;
	}
	return by ? error_set(err, EINVAL,
			      "--by=%s: groups are sorted by size, size-asc, count or count-asc",
			      by)
		  : 0;
}

/* ---- reports ---- */

static int plan_format(struct tables_style *style, const struct options *options, struct error *err)
{
	const char *of = "";
	char list[320] = "";

	style->format = tables_at(0);
	style->words = options->words;
	/* without --report, the summary screen is printed, in the format text */
	if (!options->format || !options->report)
		return 0;
	for (unsigned i = 0; (style->format = tables_at(i)) != NULL; i++) {
		const struct writer *format = style->format;
		const char *before = of;

		if (!strcmp(options->format, style->format->name))
			return 0;

		size_t at = strlen(list);

		of = format->kind == FORMAT_VIEWER || format->flags & FORMAT_MODEL
			     ? "; for a whole run also"
		     : format->flags & FORMAT_TREES ? "; for trees and diff also"
						    : "";
		snprintf(list + at, sizeof(list) - at, "%s %s",
			 !at			   ? ""
			 : strcmp(before, of) != 0 ? of
						   : ",",
			 format->name);
	}
	return error_set(err, EINVAL, "--format=%s: not a format for reports; these are%s",
			 options->format, list);
}

static int plan_limits(struct report_plan *plan, const struct options *options, struct error *err)
{
	const struct writer *format = plan->how.style.format;
	bool has_baseline = !strcmp(format->name, "baseline") || !strcmp(format->name, "json");

	if (!options->fail_on && format->flags & FORMAT_VERDICTS)
		return error_set(err, EINVAL, "--format=%s needs limits: add --fail-on=LIMIT",
				 format->name);
	if (!options->fail_on)
		return 0;
	if (has_baseline)
		plan->how.style.learned = &plan->learned;
	else if (format->flags & FORMAT_VERDICTS)
		plan->how.style.verdicts = plan->how.verdicts = &plan->verdicts;
	if (has_baseline || options->write_baseline)
		plan->how.learned = &plan->learned;
	plan->how.report.has_limits = true;
	plan->how.is_so_far = options->now;
	plan->how.limits = &plan->limits;
	return limits_parse(&plan->limits, "--fail-on", options->fail_on,
			    options->baseline.count || !strcmp(format->name, "baseline"), err);
}

/* Reads the paths of changed files, one per line. */
static int read_changed(struct report_plan *plan, const char *path, struct error *err)
{
	cleanup_file FILE *file = fopen(path, "re");
	cleanup_free char *line = NULL;
	size_t room = 0;

	if (!file)
		return error_system(err, errno, "--changed=%s", path);
	while (getline(&line, &room, file) > 0) {
		size_t length = strcspn(line, "\n");

		if (length)
			*ARRAY_ADD(&plan->changed) = pool_text(&plan->verdicts.pool, line, length);
	}
	return ferror(file) ? error_system(err, errno, "--changed=%s", path) : 0;
}

/* Sets which files are the user's source, which of them have changed, and how paths are printed. */
static int plan_source(struct report_plan *plan, const struct options *options, struct error *err)
{
	struct source_style *source = &plan->source;

	plan->how.style.source = source;
	plan->here = getcwd(NULL, 0);
	for (size_t i = 0; i < options->source_roots.count; i++) {
		const char *root = options->source_roots.items[i];
		cleanup_free char *whole = realpath(root, NULL);

		if (!whole)
			return error_system(err, errno, "--source-root=%s", root);
		*ARRAY_ADD(&plan->roots) = pool_text(&plan->verdicts.pool, whole, strlen(whole));
	}
	if (options->changed && read_changed(plan, options->changed, err))
		return -err->number;
	source->here = plan->here;
	source->roots = plan->roots.items;
	source->root_count = plan->roots.count;
	source->changed = plan->changed.items;
	source->changed_count = plan->changed.count;
	return 0;
}

static void plan_colour(struct tables_style *style, const struct options *options)
{
	enum { AUTO, ALWAYS };
	int fd = output_is_named(options->directory) ? -1 : STDOUT_FILENO;

	style->has_colour = options->color.value == AUTO ? terminal_has_colour(fd)
							 : options->color.value == ALWAYS;
	style->has_blocks = terminal_has_unicode();
	style->width = terminal_width(fd);
	style->is_verbose = options->verbose;
}

/*
 * Makes the parts of the suggested next command: "holdtrace report ", and the files that were named
 * or, if no file was named, those of the newest run.
 */
static void plan_next(struct report_plan *plan, const struct options *options)
{
	bool is_named = options->inputs.count != 0;
	size_t count = is_named ? options->inputs.count : plan->count;
	const char *const *paths = is_named ? options->inputs.items : plan->paths;
	struct line files;
	char before[4200];

	if (plan->how.choice.wants_base || plan->how.choice.wants_directories)
		return;
	line_begin(&files);
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(paths[i], "-"))
			return;
		line_add(&files, " ");
		line_add_word(&files, paths[i]);
	}
	/* do not suggest a truncated command */
	if (files.length + 1 >= sizeof(files.text))
		return;
	invocation_of_report(before, sizeof(before));
	plan->before = memory_text(before);
	plan->behind = memory_text(files.text);
	plan->how.style.before_next = plan->before;
	plan->how.style.behind_next = plan->behind;
}

int report_plan_run(struct newest *newest, const struct trace_options *reading,
		    const char *const *path, const char ***found, const char *const **paths,
		    size_t *count, struct error *err)
{
	struct stat facts;
	int rc;

	*paths = path;
	*count = 1;
	if (stat(*path, &facts) || !S_ISDIR(facts.st_mode))
		return 0;
	rc = newest_scan(newest, *path, reading, err);
	if (rc == 0 && !newest->count)
		return error_set(err, ENOENT, "%s: this directory has no trace", *path);
	if (rc == 0)
		rc = newest_run(newest, true, found, count, err);
	*paths = *found;
	return rc;
}

/*
 * Sets plan->paths. If no file is named, a command of holdtrace reads the newest run in this
 * directory, and holdtrace-postproc reads standard input.
 */
static int plan_inputs(struct report_plan *plan, const struct options *options, struct error *err)
{
	static const char *const standard_input[] = { "-" }, *const here[] = { "." };
	bool wants_directories = plan->how.choice.wants_directories;
	int rc;

	plan->paths = options->inputs.count ? options->inputs.items
		      : wants_directories   ? here
					    : standard_input;
	plan->count = options->inputs.count ? options->inputs.count : 1;
	if (options->inputs.count == 1 && !wants_directories)
		return report_plan_run(&plan->newest, &plan->how.reading.trace,
				       options->inputs.items, &plan->found, &plan->paths,
				       &plan->count, err);
	if (options->inputs.count || wants_directories || !options->newest)
		return 0;
	rc = newest_scan(&plan->newest, ".", &plan->how.reading.trace, err);
	if (rc == 0)
		rc = newest_run(&plan->newest, plan->how.reading.trace.no_wait, &plan->found,
				&plan->count, err);
	plan->paths = plan->found;
	if (rc == 0)
		plan->guessed = newest_guess(&plan->newest, plan->found[0]);
	return rc;
}

/*
 * Sets the paths of one side (old or new) of a comparison: the newest run of a directory if
 * `inputs` has only that directory, else `inputs`.
 */
static int plan_side(const char *const *inputs, size_t input_count, struct newest *newest,
		     const struct trace_options *reading, const char ***found,
		     const char *const **paths, size_t *count, struct error *err)
{
	*paths = inputs;
	*count = input_count;
	return input_count == 1 ? report_plan_run(newest, reading, inputs, found, paths, count, err)
				: 0;
}

/* Sets the paths of the two runs, or sets of runs, of a comparison. */
static int plan_comparison(struct report_plan *plan, const struct options *options,
			   struct error *err)
{
	const struct trace_options *reading = &plan->how.reading.trace;
	size_t old = options->command ? options->old_count : 1;
	int rc;

	if (options->inputs.count <= old || (!options->command && options->inputs.count != 2))
		return error_set(err, EINVAL,
				 "diff needs two runs, OLD and NEW; each is a trace, or a "
				 "directory with traces, whose newest run is used");
	rc = plan_side(options->inputs.items, old, &plan->old, reading, &plan->old_found,
		       &plan->how.base, &plan->how.base_count, err);
	return rc ? rc
		  : plan_side(options->inputs.items + old, options->inputs.count - old,
			      &plan->newest, reading, &plan->found, &plan->paths, &plan->count,
			      err);
}

static bool are_directories(const struct options *options)
{
	struct stat facts;

	for (size_t i = 0; i < options->inputs.count; i++)
		if (stat(options->inputs.items[i], &facts) || !S_ISDIR(facts.st_mode))
			return false;
	return options->inputs.count != 0;
}

static int plan_choice(struct reporting_options *how, const struct options *options,
		       const struct writer *screen, struct error *err)
{
	const struct choice_request request = {
		.words = options->report ? options->report : screen->name,
		.tables = options->tables,
		.are_tables_named = options->are_tables_named,
		.limits = how->limits,
		.format = how->style.format,
		.has_object = options->object,
		.are_directories = are_directories(options),
	};

	how->style.shows_empty = options->tables;
	return choice_make(&how->choice, &request, err);
}

int report_plan(struct report_plan *plan, const struct writer *screen, struct select_tally *tally,
		const struct options *options, struct error *err)
{
	struct reporting_options *how = &plan->how;
	int rc;

	how->report = (struct report_options){
		.within = options->within.is_set ? options->within.value : 1,
		.object = options->object,
		.has_paths = options->targets,
		.suppression_files = options->suppress.items,
		.suppression_count = options->suppress.count,
		.by = options->by,
		.unit = options->growth,
		.is_bottom_up = options->bottom_up,
		.wants_growing = options->growing.is_set,
		.min_age_ns = options->min_age.value,
		.rises =
			options->growing.has_value ? (unsigned)options->growing.value : RISES_LEAST,
	};
	/*
	 * whether a later command without a file would read the same run: the user named no file,
	 * or the launcher named the files, to print the screen after a run
	 */
	how->is_newest = options->newest && !(options->report && options->inputs.count);
	baseline_init(&plan->baseline);
	baseline_init(&plan->learned);
	rc = plan_format(&how->style, options, err);
	if (rc == 0 && options->report)
		rc = format_check_words(how->style.format, options->words, &how->report.max_bytes,
					err);
	if (rc)
		return rc;
	how->files = (struct naming_files){ .maps = options->maps.items,
					    .map_count = options->maps.count };
	how->report.top = options->top.is_set			     ? (size_t)options->top.value
			  : how->style.format->flags & FORMAT_PEOPLE ? TOP_OF_TEXT
								     : 0;
	plan_colour(&how->style, options);
	how->is_strict = options->strict;
	plan_selection(&how->reading.select, tally, options);
	how->reading.select.is_whole = true;
	if (options->growing.value > RISES_MOST)
		rc = error_set(err, EINVAL,
			       "--growing=%" PRIu64
			       ": expected 0 to %u, because a run has at most %u windows",
			       options->growing.value, RISES_MOST, RISES_WINDOWS);
	if (rc == 0)
		rc = plan_limits(plan, options, err);
	if (rc == 0 && how->verdicts)
		rc = plan_source(plan, options, err);
	if (rc == 0)
		rc = plan_choice(how, options, screen, err);
	if (rc == 0 && how->choice.wants_directories && *options->filters)
		rc = error_set(err, EINVAL, "%s: filters cannot be used with a list of traces",
			       options->filters);
	if (rc == 0)
		rc = how->choice.wants_base ? plan_comparison(plan, options, err)
					    : plan_inputs(plan, options, err);
	if (rc == 0)
		plan_next(plan, options);
	return rc;
}

void report_plan_free(struct report_plan *plan)
{
	baseline_free(&plan->baseline);
	baseline_free(&plan->learned);
	verdicts_free(&plan->verdicts);
	free(plan->roots.items);
	free(plan->changed.items);
	free(plan->here);
	runs_free(&plan->runs);
	runs_free(&plan->old_runs);
	newest_free(&plan->newest);
	newest_free(&plan->old);
	free(plan->old_found);
	free(plan->found);
	free(plan->before);
	free(plan->behind);
}
