/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/invocation.h"
#include "base/suggest.h"

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

void plan_selection(struct select_options *select, struct select_tally *tally,
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
