/* SPDX-License-Identifier: MIT */
#include "tables_compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

#define FRAMES_MAX 256

/*
 * A row of the table, with the functions of its backtrace, outermost first. An unknown function has
 * its address as its name.
 */
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

/* Returns how many outermost functions two paths have in common. */
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

/*
 * Adds a step for each function of a path, except those shared with the previous path. before: the
 * previous path, or NULL. Paths with the same functions share all steps.
 */
static void add_path(struct tables_steps *steps, const struct path *path, const struct path *before,
		     const struct table_facts *facts)
{
	const struct table_cell *old = &path->row[table_column(facts, "old")];
	const struct table_cell *new = &path->row[table_column(facts, "new")];
	struct tables_step *last;

	for (size_t i = before ? in_common(before, path) : 0; i < path->count; i++) {
		struct table_branch *branch =
			pool_zalloc(&steps->pool, sizeof(*branch) + sizeof(branch->frames[0]));

		branch->depth = (uint32_t)i;
		branch->count = 1;
		branch->frames[0] = &path->frames[i];
		*ARRAY_ADD(&steps->steps) = (struct tables_step){ .branch = branch };
	}
	last = &steps->steps.items[steps->steps.count - 1];
	last->amounts[TABLES_OLD] += old->number;
	last->amounts[TABLES_NEW] += new->number;
	steps->has_bytes = new->has_bytes;
	steps->has_ns = new->has_ns;
}

void tables_compare(struct tables_steps *steps, const struct tables_job *job,
		    const struct table *table, const struct table_group *group)
{
	cleanup_free struct path *paths = memory_zalloc(group->shown + 1, sizeof(*paths));
	int backtrace = table_column(&table->facts, "backtrace");

	steps->steps.count = 0;
	pool_reset(&steps->pool);
	for (size_t i = 0; i < group->shown; i++) {
		/*
		 * read the functions of a row, without those that call main(). A row without a
		 * backtrace gets one function, "no backtrace".
		 */
		struct path *path = &paths[i];
		const struct table_cell *row = table->rows.items[group->first + i];
		struct naming_symbol frames[FRAMES_MAX];
		char text[NAMING_TEXT_MAX];
		size_t count = 0;

		if (row[backtrace].is_set)
			count = naming_symbols(job->naming, row[backtrace].backtrace, frames,
					       FRAMES_MAX);
		while (count > 1 && frames[count - 1].is_start)
			count--;
		if (!count)
			frames[count++] = (struct naming_symbol){ .function = "no backtrace" };
		*path = (struct path){ row, count,
				       pool_alloc(&steps->pool, count * sizeof(*path->frames)) };
		for (size_t k = 0; k < count; k++) {
			path->frames[k] = frames[count - 1 - k];
			if (path->frames[k].function)
				continue;
			naming_text(job->naming, &path->frames[k], text);
			path->frames[k].function = pool_text(&steps->pool, text, strlen(text));
		}
	}
	qsort(paths, group->shown, sizeof(*paths), by_names);
	for (size_t i = 0; i < group->shown; i++)
		add_path(steps, &paths[i], i ? &paths[i - 1] : NULL, &table->facts);
}

void tables_steps_free(struct tables_steps *steps)
{
	free(steps->steps.items);
	pool_free(&steps->pool);
}
