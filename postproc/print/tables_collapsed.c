/* SPDX-License-Identifier: MIT */
/*
 * Prints trees in the format that flamegraph.pl, speedscope and other programs read. Each branch
 * with an amount of its own gets a line: its functions from the root on, separated by semicolons,
 * and the amount. The amount is in the column "self" or, in a tree without that column, in "count".
 * If the table has groups, the group's name is the first function. In a comparison of two runs,
 * each line has the amounts of both runs, as difffolded.pl prints them.
 */
#include "tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tables_compare.h"

#define FRAMES_MAX 256

struct walk {
	const struct tables_job *job;
	/* indexed by depth: the current row and its callers */
	ARRAY_OF(const struct table_branch *) above;
};

static int branch_column(const struct table_facts *facts)
{
	for (unsigned i = 0; i < facts->column_count; i++)
		if (facts->columns[i].kind == TABLE_BRANCH)
			return (int)i;
	return TABLE_COLUMN_NONE;
}

bool tables_fit(const struct tables *tables, const struct writer *format)
{
	if (!(format->flags & FORMAT_TREES))
		return true;
	for (unsigned i = 0; i < tables->count; i++)
		if (branch_column(&tables->list[i].facts) >= 0 ||
		    tables_is_comparison(&tables->list[i].facts))
			return true;
	return false;
}

/* Prints a name. Replaces semicolons by colons, because semicolons separate functions. */
static void print_name(struct out *out, const char *name)
{
	while (*name) {
		size_t length = strcspn(name, ";");

		out_name(out, name, length, ESCAPE_ALL);
		name += length;
		if (*name)
			out_char(out, ':');
		name += *name == ';';
	}
}

/*
 * Prints the class as the first function. If memory was sampled, adds a note that amounts are
 * estimates: every program that reads these lines shows their first function.
 */
static void print_class(const struct walk *walk, const char *class)
{
	uint64_t sample = walk->job->run->summary->sample;

	print_name(walk->job->out, class);
	if (sample && !strcmp(class, "memory"))
		out_format(walk->job->out, " (estimated by samples: one in %" PRIu64 " bytes)",
			   sample);
}

static void print_frame(const struct walk *walk, const struct naming_symbol *frame, bool is_first)
{
	char text[NAMING_TEXT_MAX];

	if (!is_first)
		out_char(walk->job->out, ';');
	if (frame->function) {
		print_name(walk->job->out, frame->function);
		return;
	}
	naming_text(walk->job->naming, frame, text);
	print_name(walk->job->out, text);
}

static void print_table(struct walk *walk, const struct table *table)
{
	int column = branch_column(&table->facts), value = table_column(&table->facts, "self");
	struct table_at at = { 0 };
	const struct table_cell *row;

	if (value < 0)
		value = table_column(&table->facts, "count");
	while (column >= 0 && value >= 0 && (row = table_next(table, &at)) != NULL) {
		const struct table_branch *branch = row[column].branch;
		const char *group = table->groups.items[at.group].name;
		bool is_first = !group;

		/*
		 * rows are in pre-order, so a row's caller at each smaller depth is the most recent
		 * row of that depth
		 */
		if (!row[column].is_set || branch->depth > walk->above.count)
			continue;
		walk->above.count = branch->depth;
		*ARRAY_ADD(&walk->above) = branch;
		if (!row[value].number)
			continue;
		if (group)
			print_class(walk, group);
		for (uint32_t i = 0; i <= branch->depth; i++)
			for (uint32_t j = 0; j < walk->above.items[i]->count; j++) {
				print_frame(walk, walk->above.items[i]->frames[j], is_first);
				is_first = false;
			}
		out_format(walk->job->out, " %" PRIu64 "\n", row[value].number);
	}
}

static void print_places(struct walk *walk, const struct table *table)
{
	int backtrace = table_column(&table->facts, "backtrace");
	int old = table_column(&table->facts, "old"), new = table_column(&table->facts, "new");
	struct naming_symbol frames[FRAMES_MAX];
	struct out *out = walk->job->out;

	for (size_t i = 0; i < table->rows.count; i++) {
		const struct table_cell *row = table->rows.items[i];
		size_t count = row[backtrace].is_set
				       ? naming_symbols(walk->job->naming, row[backtrace].backtrace,
							frames, FRAMES_MAX)
				       : 0;

		print_class(walk, row[0].text);
		while (count > 1 && frames[count - 1].is_start)
			count--;
		while (count)
			print_frame(walk, &frames[--count], false);
		out_format(out, " %" PRIu64 " %" PRIu64 "\n", row[old].number, row[new].number);
	}
}

void tables_print_collapsed(const struct tables_job *job)
{
	struct walk walk = { .job = job };

	for (unsigned i = 0; i < job->tables->count; i++)
		if (tables_is_comparison(&job->tables->list[i].facts))
			print_places(&walk, &job->tables->list[i]);
		else
			print_table(&walk, &job->tables->list[i]);
	free(walk.above.items);
}
