/* SPDX-License-Identifier: MIT */
/*
 * Writes Callgrind's profile format (Valgrind manual, "Callgrind Format Specification"): the own
 * cost of each line of a function, and the inclusive cost of the callee for each call in that line.
 * A line or call that occurs several times in a backtrace is counted once.
 */
#include <stdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "profile.h"
#include "viewers.h"

/* The cost of a line of a function, or of a call in that line. */
struct cell {
	/* numbers of functions; callee 0: the values are the line's own cost */
	uint32_t function, callee;
	unsigned line;
	/* number of allocations and waits: calls between ordinary functions are not recorded */
	uint64_t calls;
	uint64_t values[]; /* one value for each column of the profile */
};

struct callgrind {
	struct profile *profile;
	struct out *out;
	struct pool pool;
	struct hash_table table;
	ARRAY_OF(struct cell *) cells;
	ARRAY_OF(struct cell *) met; /* cells to which the current backtrace was already added */
	size_t columns;
	uint64_t *sum;	  /* sum of each column */
	bool *has_name;	  /* indexed by function number: whether the name was written */
	struct map names; /* numbers of files and modules; key: address of the name */
	uint32_t name_count;
};

static bool is_cell(const void *item, const void *key)
{
	const struct cell *a = item, *b = key;

	return a->function == b->function && a->callee == b->callee && a->line == b->line;
}

static struct cell *cell_of(struct callgrind *file, const struct cell *wanted)
{
	uint64_t hash = hash_two(file->table.seed, (uint64_t)wanted->function << 32 | wanted->line,
				 wanted->callee);
	struct cell *cell = hash_table_find(&file->table, hash, is_cell, wanted);

	if (cell)
		return cell;
	cell = pool_zalloc(&file->pool, sizeof(*cell) + file->columns * sizeof(*cell->values));
	*ARRAY_ADD(&file->cells) = cell;
	hash_table_add(&file->table, hash, cell);
	cell->function = wanted->function;
	cell->callee = wanted->callee;
	cell->line = wanted->line;
	return cell;
}

/* Adds the values of a backtrace to a cell, unless they were already added (after recursion). */
static void add_cell(struct callgrind *file, struct cell *cell, const uint64_t *values)
{
	uint64_t calls = values[COST_ALLOC_OBJECTS] + values[COST_CONTENTIONS];

	for (size_t i = 0; i < file->met.count; i++)
		if (file->met.items[i] == cell)
			return;
	*ARRAY_ADD(&file->met) = cell;
	cell->calls += calls ? calls : 1;
	for (size_t i = 0; i < file->columns; i++)
		cell->values[i] += values[i];
}

static void add_backtrace(struct callgrind *file, const struct trace_node *backtrace,
			  const char *called, const uint64_t *values)
{
	const struct stacks *stacks = &file->profile->stacks;
	size_t count = stacks_of(&file->profile->stacks, backtrace, called);
	struct cell wanted = { 0 };

	file->met.count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct stacks_frame *frame = stacks->stack[i];

		wanted.callee = wanted.function;
		wanted.function = frame->function->number;
		wanted.line = frame->line;
		add_cell(file, cell_of(file, &wanted), values);
	}
	for (size_t i = 0; i < file->columns; i++)
		file->sum[i] += values[i];
}

/* ---- the file ---- */

static int by_place(const void *a, const void *b)
{
	const struct cell *x = *(struct cell *const *)a, *y = *(struct cell *const *)b;

	return ORDER(x->function, y->function)
		?: ORDER(!y->callee, !x->callee)
		?: ORDER(x->line, y->line)
		?: ORDER(x->callee, y->callee);
}

static void put_name(struct callgrind *file, const char *name)
{
	out_name(file->out, name, strlen(name), ESCAPE_ALL);
}

/* Writes a name: "fl=(3) main.c" the first time, later only "fl=(3)". */
static void put_place(struct callgrind *file, const char *key, const char *name)
{
	struct map_entry *entry = map_put(&file->names, 0, (uintptr_t)name);

	out_text(file->out, key);
	if (entry->value) {
		out_format(file->out, "(%" PRIu32 ")\n", entry->value);
		return;
	}
	entry->value = ++file->name_count;
	out_format(file->out, "(%" PRIu32 ") ", entry->value);
	put_name(file, *name ? name : "???");
	out_char(file->out, '\n');
}

static void put_function(struct callgrind *file, uint32_t number, bool is_callee)
{
	const struct stacks_function *function =
		file->profile->stacks.function_list.items[number - 1];

	put_place(file, is_callee ? "cob=" : "ob=", function->module);
	put_place(file, is_callee ? "cfi=" : "fl=", function->file);
	out_format(file->out, "%sfn=(%" PRIu32 ")", is_callee ? "c" : "", number);
	if (!file->has_name[number]) {
		out_char(file->out, ' ');
		put_name(file, function->name);
		file->has_name[number] = true;
	}
	out_char(file->out, '\n');
}

/*
 * Returns the profile's column for a position in the file. KCachegrind sorts by the column at
 * position 0, so that column has live bytes. Columns of other classes keep their order.
 */
static size_t column_at(size_t position)
{
	static const enum profile_cost order[COST_OTHERS] = {
		COST_INUSE_SPACE, COST_INUSE_OBJECTS, COST_PEAK_SPACE, COST_PEAK_OBJECTS,
		COST_ALLOC_SPACE, COST_ALLOC_OBJECTS, COST_DELAY,      COST_CONTENTIONS,
	};

	return position < COST_OTHERS ? order[position] : position;
}

/* Writes the values of a line, without the zeros at its end, which the format allows to omit. */
static void put_values(struct callgrind *file, const char *before, const uint64_t *values)
{
	size_t count = file->columns;

	while (count > 1 && !values[column_at(count - 1)])
		count--;
	out_text(file->out, before);
	for (size_t i = 0; i < count; i++)
		out_format(file->out, "%s%" PRIu64, i || *before ? " " : "", values[column_at(i)]);
	out_char(file->out, '\n');
}

static void put_cells(struct callgrind *file)
{
	uint32_t function = 0;
	char line[24];

	ARRAY_SORT(&file->cells, by_place);
	for (size_t i = 0; i < file->cells.count; i++) {
		const struct cell *cell = file->cells.items[i];

		if (cell->function != function) {
			out_char(file->out, '\n');
			put_function(file, cell->function, false);
		}
		function = cell->function;
		if (cell->callee) {
			put_function(file, cell->callee, true);
			out_format(file->out, "calls=%" PRIu64 " 0\n", cell->calls);
		}
		snprintf(line, sizeof(line), "%u", cell->line);
		put_values(file, line, cell->values);
	}
	out_char(file->out, '\n');
	put_values(file, "totals:", file->sum);
}

static int callgrind_print(void *state, struct out *out, struct error *err)
{
	struct callgrind file = { .profile = state, .out = out };
	const struct wait_sums *waits = &file.profile->waits;
	const struct summary *run = file.profile->run->summary;
	const char *command = viewer_command(summary_process_at(run, 0));
	char samples[SUMMARY_SAMPLES_MAX];
	struct costs_place place;
	uint32_t at = 0;

	(void)err;
	hash_table_init(&file.table);
	profile_expect(state);
	profile_columns(state);
	file.columns = file.profile->columns.count;
	file.sum = memory_zalloc(file.columns + 1, sizeof(*file.sum));
	while (costs_next(&file.profile->costs, &at, &place))
		add_backtrace(&file, place.place->backtrace, place.place->function,
			      profile_values(state, &place));
	for (size_t i = 0; i < waits->list.count; i++)
		add_backtrace(&file, waits->list.items[i]->waiter, waits->list.items[i]->function,
			      profile_wait_values(state, waits->list.items[i]));
	file.has_name =
		memory_zalloc(file.profile->stacks.function_list.count + 1, sizeof(*file.has_name));
	out_text(out, "# callgrind format\nversion: 1\ncreator: holdtrace " PACKAGE_VERSION
		      "\npart: 1\ncmd: ");
	out_name(out, command, strlen(command), ESCAPE_ALL);
	if (*summary_say_samples(run, samples))
		out_format(out, "\ndesc: Samples: %s", samples);
	out_text(out, "\n\npositions: line\nevents:");
	for (size_t i = 0; i < file.columns; i++)
		out_format(out, " %s", file.profile->columns.items[column_at(i)].title);
	out_char(out, '\n');
	put_values(&file, "summary:", file.sum);
	put_cells(&file);
	free(file.has_name);
	free(file.sum);
	free(file.cells.items);
	free(file.met.items);
	hash_table_free(&file.table);
	map_clear(&file.names);
	pool_free(&file.pool);
	return 0;
}

VIEWER_OF_PROFILE(callgrind);
