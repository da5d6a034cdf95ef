/* SPDX-License-Identifier: MIT */
#include "overview_parts.h"

#include <string.h>

/* The program's malloc is not the recorded one. */
static void print_allocator(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	const struct summary_process *process = summary->processes.items;
	struct line line;

	if (!summary->allocators)
		return;
	while (!process->allocator)
		process++;
	line_begin(&line);
	line_add(&line,
		 "UNSEEN  memory of %s: it uses the malloc of %s, which is not recorded: nothing "
		 "here counts its blocks",
		 overview_name(process), process->allocator);
	if (summary->allocators > 1)
		line_add(&line, "; %s processes do so", COUNT(summary->allocators));
	screen_wrap(&overview->screen, &line, 8);
}

/* The program has an allocator whose functions have names that no hook has. */
static void print_inner_allocator(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	struct line line;

	if (!summary->inner.name && !summary->inner.bytes)
		return;
	line_begin(&line);
	if (summary->inner.name)
		line_add(&line,
			 "UNSEEN  memory of %s%s%s: it is called by names of its own, and not "
			 "recorded: nothing here counts its blocks",
			 summary->inner.name, summary->inner.module ? " in " : "",
			 summary->inner.module ? summary->inner.module : "");
	else
		line_add(&line,
			 "UNSEEN  blocks in %s that %s maps by itself: if it allocates them there, "
			 "nothing here counts them",
			 BYTES(summary->inner.bytes),
			 summary->inner.mapper ? summary->inner.mapper : "the program");
	screen_wrap(&overview->screen, &line, 8);
}

/* The last component of a path. */
static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Modules whose acquisitions and releases are not recorded. */
static void print_bypasses(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	size_t count = summary->bypasses.count;
	struct line line;

	if (!count)
		return;
	line_begin(&line);
	line_add(&line, "UNSEEN  calls of %s", file_name(summary->bypasses.items[0].path));
	if (count > 1)
		line_add(&line, " and %s more module%s", COUNT(count - 1), PLURAL(count - 1));
	line_add(&line,
		 " (dlopen with RTLD_DEEPBIND?): what %s gained is not counted here, what "
		 "%s gave back seems to be held",
		 count > 1 ? "they" : "it", count > 1 ? "they" : "it");
	screen_wrap(&overview->screen, &line, 8);
}

static void print_namespaces(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	const struct summary_process *process = summary->processes.items;
	struct line line;

	if (!summary->namespaces)
		return;
	while (!process->has_namespace)
		process++;
	line_begin(&line);
	line_add(&line,
		 "UNSEEN  calls of libraries that %s loaded into another link namespace (dlmopen): "
		 "nothing of them is counted here",
		 overview_name(process));
	if (summary->namespaces > 1)
		line_add(&line, "; %s processes did so", COUNT(summary->namespaces));
	screen_wrap(&overview->screen, &line, 8);
}

/* Without this line, a screen without waits would look as if no thread had waited. */
static void print_coverage(struct overview *overview)
{
	const struct coverage_sum *sum = &overview->summary->blocked_time;
	char text[COVERAGE_TEXT_SIZE];
	struct line line;

	if (!coverage_is_low(sum))
		return;
	line_begin(&line);
	line_add(&line, "UNSEEN  waits: %s", coverage_say(sum, text));
	screen_wrap(&overview->screen, &line, 8);
}

/* Objects that were freed during a pause seem to be live. */
static void print_pauses(struct overview *overview)
{
	const struct summary *summary = overview->summary;
	struct line line;

	if (!summary->pauses)
		return;
	line_begin(&line);
	line_add(&line,
		 "PAUSED  nothing was recorded for %s (%s pause%s): what was given back then "
		 "seems to be held",
		 DURATION(summary->pause_ns), COUNT(summary->pauses), PLURAL(summary->pauses));
	screen_wrap(&overview->screen, &line, 8);
}

/* Sampled traces lack what needs every call. */
static void print_sample(struct overview *overview)
{
	struct line line;

	if (!overview->summary->sample)
		return;
	line_begin(&line);
	line_add(&line,
		 "SAMPLED  memory, once in %s that are asked for: its numbers are estimates, +- "
		 "says "
		 "how good 95 of 100 are; temporary blocks, double frees and frees of what was not "
		 "allocated are not known",
		 BYTES(overview->summary->sample));
	screen_wrap(&overview->screen, &line, 9);
}

void overview_doubts(struct overview *overview)
{
	print_allocator(overview);
	print_inner_allocator(overview);
	print_bypasses(overview);
	print_namespaces(overview);
	print_coverage(overview);
	print_pauses(overview);
	print_sample(overview);
}
