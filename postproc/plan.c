/* SPDX-License-Identifier: MIT */
#include "postproc/plan.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/invocation.h"
#include "base/suggest.h"

int plan_check_directory(const struct output *output, const struct writer *writer,
			 struct error *err)
{
	struct stat facts;

	/* A format that is a directory makes it itself. */
	if (!output->directory || writer->flags & FORMAT_DIRECTORY)
		return 0;
	if (stat(output->directory, &facts) != 0)
		return error_system(err, errno, "-o %s: make the directory first",
				    output->directory);
	if (!S_ISDIR(facts.st_mode))
		return error_set(err, ENOTDIR, "-o %s: is no directory; use > for a file",
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
		return "-r resolves one process at a time: leave --merge out";
	if (options->pid.is_set && options->pid.value > UINT32_MAX)
		return "--pid: no process has such a number";
	return NULL;
}

void plan_selection(struct select_options *select, struct select_tally *tally,
		    const struct options *options)
{
	*tally = (struct select_tally){ .filters = *options->filters ? options->filters : NULL };
	*select = (struct select_options){
		.tally = tally,
		.has_resources = options->resources.is_set,
		.resources = options->resources.value,
		.has_contexts = options->contexts.is_set,
		.contexts = options->contexts.value,
		.depth = options->depth.is_set && options->depth.value <= INT32_MAX
				 ? (int64_t)options->depth.value
				 : -1,
		.include = options->include,
		.exclude = options->exclude,
		.call_address = options->call_address,
		.functions = options->functions,
		.modules = options->modules,
		.thread = options->thread,
		.size = options->size,
		.has_pid = options->pid.is_set,
		.pid = (uint32_t)options->pid.value,
		.programs = options->programs,
	};
}

static int refuse_format(const char *word, struct error *err)
{
	struct suggest suggest;

	for (unsigned i = 0; sheets_at(i); i++)
		if (!strcmp(sheets_at(i)->name, word))
			return error_set(err, EINVAL, "--format=%s: for reports: add --report=%s",
					 word,
					 sheets_at(i)->kind == FORMAT_VIEWER ? "summary" : "WHAT");
	suggest_begin(&suggest, word, strlen(word));
	for (unsigned i = 0; writer_at(i); i++)
		suggest_try(&suggest, writer_at(i)->name);
	return error_set(err, EINVAL, "--format=%s: no such format%s; --format=list lists them",
			 word, suggest_text(&suggest));
}

static inline const char *said(const option_word *option)
{
	return option->word;
}

/* What the formats have of their own, by the words of their tables. */
static void plan_own(struct pass_options *pass, const struct options *options)
{
	(void)options; /* where no format has any */
	const struct writer_option own[] = {
#define OPTION(kind, name, word, letter, argument, with, description) \
	{ word, said(&options->name) },
#ifdef HAVE_DIALECT_SWAP
#include "dialects/swap/options.def"
#endif
#ifdef HAVE_DIALECT_ETRACE
#include "dialects/etrace/options.def"
#endif
#ifdef HAVE_DIALECT_SCALER
#include "dialects/scaler/options.def"
#endif
#undef OPTION
		{ NULL, NULL },
	};

	_Static_assert(sizeof(own) <= sizeof(pass->own), "room for the options of all formats");
	memcpy(pass->own, own, sizeof(own));
	pass->own_count = sizeof(own) / sizeof(*own) - 1;
}

int plan_writer(const struct writer **writer, const struct options *options, struct error *err)
{
	const char *problem;

	*writer = options->format ? writer_find(options->format) : writer_at(0);
	if (!*writer)
		return refuse_format(options->format, err);
	problem = select_problem(options, *writer);
	return problem ? error_set(err, EINVAL, "%s", problem) : 0;
}

/* Words of --order. */
enum { ORDER_STREAM, ORDER_SP_RTRACE };

void plan_pass(struct pass_options *pass, struct output *output, struct select_tally *tally,
	       const struct options *options)
{
	struct select_options *select = &pass->reading.select;

	pass->order = options->sort.word ? (enum sort_order)options->sort.value : SORT_SIZE_ASC;
	output->directory = options->directory;
	if (options->directory && !strcmp(options->directory, "stdout"))
		output->directory = NULL;
	output->suffix = pass->writer->suffix;
	output->is_resolved = options->resolve;
	output->is_quiet = options->quiet;
	pass->remove_arguments = options->remove_args;
	pass->is_leaks = options->leaks;
	pass->is_compressed = options->compress;
	pass->is_reordered = pass->writer == writer_at(0) &&
			     (options->order.word ? options->order.value == ORDER_SP_RTRACE
						  : invocation_is_sp_rtrace());
	pass->reading.is_merged = options->merge || pass->writer->flags & FORMAT_ONE;
	pass->force = options->force;
	plan_own(pass, options);
	pass->output = output;
	plan_selection(select, tally, options);
	select->is_whole = options->leaks || pass->writer != writer_at(0);
	select->min_age_ns = options->min_age.value;
}
