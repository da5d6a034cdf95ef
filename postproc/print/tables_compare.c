/* SPDX-License-Identifier: MIT */
#include "tables_compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

#define FRAMES_MAX 256

/* A row with its functions, outermost first; each has a name. */
struct path {
	const struct table_cell *row;
	size_t count;
	struct naming_symbol *frames;
};

bool tables_is_comparison(const struct table_facts *facts)
{
	return table_column(facts, "old") >= 0 && table_column(facts, "new") >= 0 &&
	       table_column(facts, "backtrace") >= 0;
}

static bool give_names(struct path *path, struct pool *pool, struct naming *naming)
{
	char text[NAMING_TEXT_MAX];

	for (size_t i = 0; i < path->count; i++) {
		if (path->frames[i].function)
			continue;
		naming_text(naming, &path->frames[i], text);
		path->frames[i].function = pool_text(pool, text, strlen(text));
	}
	return true;
}

/*
 * Reads the functions of a row, without those before main. A row without a backtrace has one frame.
 */
static bool read_path(struct path *path, struct pool *pool, struct naming *naming,
		      const struct table_cell *row, int backtrace)
{
	struct naming_symbol frames[FRAMES_MAX] = { { .function = "no backtrace" } };
	size_t count = 0;

	if (row[backtrace].is_set)
		count = naming_symbols(naming, row[backtrace].backtrace, frames, FRAMES_MAX);
	while (count > 1 && frames[count - 1].is_start)
		count--;
	if (!count)
		frames[0] = (struct naming_symbol){ .function = "no backtrace" };
	path->row = row;
	path->count = count ? count : 1;
	path->frames = pool_alloc(pool, path->count * sizeof(*path->frames));
	for (size_t i = 0; path->frames && i < path->count; i++)
		path->frames[i] = frames[path->count - 1 - i];
	return path->frames && give_names(path, pool, naming);
}

/* How many outermost functions two paths have in common. */
static size_t in_common(const struct path *one, const struct path *two)
{
	size_t least = one->count < two->count ? one->count : two->count, same = 0;

	while (same < least && !strcmp(one->frames[same].function, two->frames[same].function))
		same++;
	return same;
}

static int by_names(const void *a, const void *b)
{
	const struct path *one = a, *two = b;
	size_t same = in_common(one, two);

	if (same == one->count || same == two->count)
		return (one->count > two->count) - (one->count < two->count);
	return strcmp(one->frames[same].function, two->frames[same].function);
}

static bool add_step(struct tables_steps *steps, const struct naming_symbol *frame, size_t depth)
{
	struct table_branch *branch =
		pool_zalloc(&steps->pool, sizeof(*branch) + sizeof(branch->frames[0]));
	struct tables_step *step = ARRAY_ADD(&steps->steps);

	branch->depth = (uint32_t)depth;
	branch->count = 1;
	branch->frames[0] = frame;
	*step = (struct tables_step){ .branch = branch };
	return true;
}

/*
 * Adds the steps of a path that differ from the previous path; before: NULL for the first. Equal
 * paths share their steps.
 */
static bool add_path(struct tables_steps *steps, const struct path *path, const struct path *before,
		     const struct table_facts *facts)
{
	const struct table_cell *old = &path->row[table_column(facts, "old")];
	const struct table_cell *new = &path->row[table_column(facts, "new")];
	struct tables_step *last;

	for (size_t i = before ? in_common(before, path) : 0; i < path->count; i++)
		if (!add_step(steps, &path->frames[i], i))
			return false;
	last = &steps->steps.items[steps->steps.count - 1];
	last->amounts[TABLES_OLD] += old->number;
	last->amounts[TABLES_NEW] += new->number;
	steps->has_bytes = new->has_bytes;
	steps->has_ns = new->has_ns;
	return true;
}

bool tables_compare(struct tables_steps *steps, const struct tables_job *job,
		    const struct table *table, const struct table_group *group)
{
	cleanup_free struct path *paths = memory_zalloc(group->shown + 1, sizeof(*paths));
	int backtrace = table_column(&table->facts, "backtrace");
	bool is_fit = paths;

	steps->steps.count = 0;
	pool_reset(&steps->pool);
	for (size_t i = 0; is_fit && i < group->shown; i++)
		is_fit = read_path(&paths[i], &steps->pool, job->naming,
				   table->rows.items[group->first + i], backtrace);
	if (is_fit)
		qsort(paths, group->shown, sizeof(*paths), by_names);
	for (size_t i = 0; is_fit && i < group->shown; i++)
		is_fit = add_path(steps, &paths[i], i ? &paths[i - 1] : NULL, &table->facts);
	return is_fit;
}

void tables_steps_free(struct tables_steps *steps)
{
	free(steps->steps.items);
	pool_free(&steps->pool);
}
