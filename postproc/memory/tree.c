/* SPDX-License-Identifier: MIT */
/*
 * The report `tree`: amounts by function, as a tree for each class, from main() down to the
 * acquiring functions or, with --bottom-up, from acquiring functions up to main(). Memory grows
 * with the number of distinct backtraces.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/array.h"
#include "branches.h"
#include "measure.h"
#include "naming/paths.h"
#include "postproc/report/report.h"

/* The tree of a class, with facts about the class. */
struct plant {
	const char *class;
	uint32_t rank;
	bool has_bytes, has_ns;
	struct branches branches;
};

struct tree_state {
	struct report_run *run;
	struct measure *measure;
	struct paths paths;
	ARRAY_OF(struct plant *) plants;
};

static int tree_begin(void *user, struct report_run *run, struct error *err)
{
	struct tree_state *state = user;

	paths_init(&state->paths, run->naming);
	return measure_begin(&state->measure, run, MEASURE_BYTES, false, err);
}

/* ---- adding call sites to the trees ---- */

static struct plant *plant_of(struct tree_state *state, const struct measure_place *place)
{
	struct plant *plant;

	for (size_t i = 0; i < state->plants.count; i++)
		if (!strcmp(state->plants.items[i]->class, place->class))
			return state->plants.items[i];
	plant = memory_zalloc(1, sizeof(*plant));
	*ARRAY_ADD(&state->plants) = plant;
	plant->class = place->class;
	plant->rank = place->rank;
	plant->has_bytes = place->has_bytes;
	plant->has_ns = place->has_ns;
	branches_init(&plant->branches);
	return plant;
}

/* ---- the table ---- */

struct line {
	uint64_t id;	/* number of the line, from 1 */
	uint32_t depth; /* depth in the tree, in lines; 0: the line has no parent */
};

/*
 * Adds a row for the branches from `branch` to `end`, which share a line. id: number of the row in
 * the trees of all classes.
 */
static void tree_put(struct tree_state *state, struct table *table, const struct plant *plant,
		     struct branch *branch, struct branch *end, uint64_t id)
{
	const struct line *parent = branch->parent->user;
	struct line *line = table_alloc(table, sizeof(*line));
	struct table_cell *row = table_add(table);

	table_group(table, &row[0], plant->class, plant->rank);
	*line = (struct line){ id, parent ? parent->depth + 1 : 0 };
	end->user = line;
	table_number(CELL(row, tree, id), id);
	if (parent)
		table_number(CELL(row, tree, parent), parent->id);
	table_amount(CELL(row, tree, total), end->total, plant->has_bytes);
	table_error(CELL(row, tree, total_error), end->total_variance, plant->has_bytes);
	table_amount(CELL(row, tree, self), end->self, plant->has_bytes);
	table_error(CELL(row, tree, self_error), end->self_variance, plant->has_bytes);
	CELL(row, tree, total)->has_ns = CELL(row, tree, self)->has_ns = plant->has_ns;
	table_percent(CELL(row, tree, share), end->total, plant->branches.root.total);
	branches_cell(table, CELL(row, tree, branch), branch, end, line->depth,
		      state->run->options->is_bottom_up);
}

static void put_note(struct tree_state *state, struct table *table)
{
	static const char *const what[] = {
		[MEASURE_BYTES] = "bytes acquired, whether or not they were released",
		[MEASURE_COUNT] = "calls that acquired an object",
		[MEASURE_HELD] = "bytes or objects that were live at exit",
		[MEASURE_PEAK] = "bytes or objects that were live at the peak of the class",
		[MEASURE_TEMP] = "temporary objects (--within), in bytes or objects",
		[MEASURE_HOLD] = "time for which locks were held",
		[MEASURE_WAIT] = "time in calls that may wait, whether or not they had to",
	};
	enum measure_kind kind = measure_kind(state->measure);
	uint64_t left_out = 0;

	for (size_t i = 0; i < state->plants.count; i++)
		left_out += state->plants.items[i]->branches.left_out;
	if (left_out)
		table_note(table, "by %s: %s; %llu smaller branches are not shown (--top=0)",
			   measure_word(kind), what[kind], (unsigned long long)left_out);
	else
		table_note(table, "by %s: %s", measure_word(kind), what[kind]);
	report_note_samples(state->run, table,
			    kind == MEASURE_TEMP ? REPORT_SAMPLED_TEMP : REPORT_SAMPLED_AMOUNTS);
}

static void tree_end(void *user, struct tables *tables)
{
	struct tree_state *state = user;
	const struct report_options *options = state->run->options;
	struct table *table = tables_begin(tables, TABLE_tree);
	struct measure_place place;
	size_t at = 0;

	while (measure_next(state->measure, &at, &place)) {
		struct plant *plant = place.amount[0] ? plant_of(state, &place) : NULL;
		struct branch *branch = NULL;
		size_t count;

		if (!plant)
			continue;
		count = paths_make(&state->paths, place.backtrace, place.function);
		for (size_t i = 0; i < count; i++)
			branch = branches_child(
				&plant->branches, branch,
				state->paths.path[options->is_bottom_up ? count - 1 - i : i]);
		branches_add(branch, place.amount[0], place.variance[0]);
	}
	for (size_t i = 0; i < state->plants.count; i++) {
		struct plant *plant = state->plants.items[i];
		struct branch *branch = NULL, *last = NULL;

		branches_finish(&plant->branches, options->top);
		while ((branch = branches_next(&plant->branches, last)) != NULL) {
			last = branches_end(branch);
			tree_put(state, table, plant, branch, last, table->rows.count + 1);
		}
	}
	put_note(state, table);
}

static void tree_destroy(void *user)
{
	struct tree_state *state = user;

	for (size_t i = 0; i < state->plants.count; i++) {
		branches_free(&state->plants.items[i]->branches);
		free(state->plants.items[i]);
	}
	free(state->plants.items);
	paths_free(&state->paths);
	measure_free(state->measure);
}

const struct report report_tree = {
	.wants_ledger = true,
	.takes_by = true,
	.state_size = sizeof(struct tree_state),
	.begin = tree_begin,
	.event = measure_event,
	.process = measure_process,
	.end = tree_end,
	.destroy = tree_destroy,
};
