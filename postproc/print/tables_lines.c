/* SPDX-License-Identifier: MIT */
/*
 * Prints the tables of one run for the process that joins the tables of several runs
 * (postproc/sets.c). Columns are separated by tabs, and no text has control characters. The first
 * letter of a line shows its contents. R: facts about the run. T: the number of a table, and
 * whether it is incomplete. C: the cells of a row. N: the number of a table whose rows are left
 * out.
 */
#include "tables.h"

#include <inttypes.h>

#include "naming/paths.h"
#include "postproc/totals/selection.h"

#define LINES_MAX 12

struct lines {
	const struct tables_job *job;
	struct out *out;
	struct paths paths;
};

static void put_text(const struct lines *lines, const char *text, size_t length)
{
	out_name(lines->out, text, length, ESCAPE_ALL);
}

/*
 * Puts a call site. First \1FUNCTION\2MODULE for each function of its path, innermost first. Then
 * \3 and the number of lines that are always shown. Then \1LINE for each line of text for people.
 */
static void put_site(struct lines *lines, const struct trace_node *backtrace)
{
	size_t count = paths_make(&lines->paths, backtrace, ""), always;
	struct naming_line shown[LINES_MAX];

	while (count) {
		const struct path_function *function = lines->paths.path[--count];
		const char *name = function->symbol.function;

		out_char(lines->out, '\1');
		if (name)
			put_text(lines, name, strlen(name));
		else
			out_format(lines->out, "+0x%" PRIx64, function->symbol.offset);
		out_char(lines->out, '\2');
		put_text(lines, function->program, strlen(function->program));
	}
	count = naming_site(lines->job->naming, backtrace, shown, LINES_MAX, &always);
	out_format(lines->out, "\3%zu", always);
	for (size_t i = 0; i < count; i++) {
		naming_fit(&shown[i], true, NAMING_TEXT_MAX - 1);
		out_char(lines->out, '\1');
		put_text(lines, shown[i].text, strlen(shown[i].text));
	}
}

/*
 * Puts a tab and a cell. The cell is empty if it is not set. A text follows the rank of its group
 * (0: it is no group). A number follows its unit (b bytes, t nanoseconds, n none) and precedes its
 * weight.
 */
static void put_cell(struct lines *lines, enum table_kind kind, const struct table_cell *cell)
{
	enum tables_shape shape = tables_shape(kind);

	out_char(lines->out, '\t');
	if (!cell->is_set || shape == SHAPE_STEPS || shape == SHAPE_BRANCH)
		return;
	if (shape == SHAPE_TEXT) {
		out_format(lines->out, "%" PRIu64 ":",
			   kind == TABLE_GROUP ? (uint64_t)cell->weight : 0);
		put_text(lines, cell->text, strlen(cell->text));
	} else if (shape == SHAPE_BACKTRACE) {
		put_site(lines, cell->backtrace);
	} else {
		out_format(lines->out, "%c%" PRIu64 ":%" PRIu64,
			   cell->has_bytes ? 'b'
			   : cell->has_ns  ? 't'
					   : 'n',
			   cell->number, (uint64_t)cell->weight);
	}
}

static void put_label(const struct lines *lines, const char *labels, const char *name)
{
	size_t length = 0;
	const char *value = trace_label(labels, name, &length);

	out_char(lines->out, '\t');
	put_text(lines, value ? value : "", length);
}

void tables_print_lines(const struct tables_job *job)
{
	struct lines lines = { .job = job, .out = job->out };
	struct report_gaps gaps;

	paths_init(&lines.paths, job->naming);

	const struct summary *summary = lines.job->run->summary;
	const struct summary_process *first = summary_process_at(summary, 0);

	report_find_gaps(lines.job->run, KIND_ALL, 0, &gaps);
	out_format(lines.out, "R\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%d\t%" PRIu64,
		   summary->sample, gaps.lost, gaps.incomplete, gaps.damaged,
		   select_is_empty(summary->selection),
		   summary->end_ns > summary->start_ns ? summary->end_ns - summary->start_ns : 0);
	put_label(&lines, first ? first->labels : NULL, "rank");
	put_label(&lines, first ? first->labels : NULL, "job");
	put_label(&lines, first ? first->labels : NULL, "host");
	out_char(lines.out, '\n');
	for (unsigned i = 0; i < job->tables->count; i++) {
		const struct table *table = &job->tables->list[i];
		unsigned columns = table->facts.column_count;

		if (!tables_can_join(&table->facts) && table->rows.count)
			out_format(job->out, "N\t%u\n", (unsigned)table->id);
		if (!tables_can_join(&table->facts))
			continue;
		for (size_t r = 0; r < table->rows.count; r++)
			for (unsigned c = 0; c < columns; c++)
				if (table->facts.columns[c].kind == TABLE_BACKTRACE &&
				    table->rows.items[r][c].is_set)
					naming_expect(job->naming,
						      table->rows.items[r][c].backtrace);
		out_format(job->out, "T\t%u\t%d\n", (unsigned)table->id, table->is_unknown);
		for (size_t r = 0; r < table->rows.count; r++) {
			out_char(job->out, 'C');
			for (unsigned c = 0; c < columns; c++)
				put_cell(&lines, table->facts.columns[c].kind,
					 &table->rows.items[r][c]);
			out_char(job->out, '\n');
		}
	}
	paths_free(&lines.paths);
}
