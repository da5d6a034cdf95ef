/* SPDX-License-Identifier: MIT */
/*
 * CSV as in RFC 4180: texts with commas, quotes or line breaks are quoted, and quotes doubled.
 * Tables are separated by empty lines; each begins with a line of headings. The first column is the
 * name of the table, so that a user can find the rows of a table with grep.
 */
#include "tables.h"

#include <inttypes.h>
#include <string.h>

#define FRAMES_MAX 256

/* Prints a frame in a cell. begins: the frame is the first one of the cell. */
static void print_frame(struct out *out, const struct naming_symbol *frame, bool begins)
{
	if (frame->function)
		out_cell(out, frame->function, strlen(frame->function), begins);
	else
		out_format(out, "0x%" PRIx64, frame->offset);
	if (frame->file && frame->line) {
		out_char(out, ' ');
		out_cell(out, frame->file, strlen(frame->file), false);
		out_format(out, ":%u", frame->line);
	}
	if (frame->module) {
		out_text(out, " (");
		out_cell(out, frame->module, strlen(frame->module), false);
		out_char(out, ')');
	}
}

static void print_backtrace(const struct tables_job *job, const struct trace_node *backtrace)
{
	struct naming_symbol frames[FRAMES_MAX];
	size_t count = naming_symbols(job->naming, backtrace, frames, FRAMES_MAX);

	out_char(job->out, '"');
	for (size_t i = 0; i < count; i++) {
		if (i)
			out_text(job->out, " <- ");
		print_frame(job->out, &frames[i], i == 0);
	}
	out_char(job->out, '"');
}

static void print_cell(const struct tables_job *job, enum table_kind kind,
		       const struct table_cell *cell)
{
	bool is_quoted;

	if (!cell->is_set)
		return;
	switch (tables_shape(kind)) {
	case SHAPE_TEXT:
		is_quoted = cell->text[strcspn(cell->text, ",\"\r\n")] || *cell->text == ' ';
		if (is_quoted)
			out_char(job->out, '"');
		out_cell(job->out, cell->text, strlen(cell->text), true);
		if (is_quoted)
			out_char(job->out, '"');
		break;
	case SHAPE_BACKTRACE:
		print_backtrace(job, cell->backtrace);
		break;
	case SHAPE_BRANCH:
		out_char(job->out, '"');
		for (uint32_t i = 0; i < cell->branch->count; i++) {
			if (i)
				out_text(job->out, cell->branch->is_outwards ? " <- " : " -> ");
			print_frame(job->out, cell->branch->frames[i], i == 0);
		}
		out_char(job->out, '"');
		break;
	case SHAPE_SIGNED:
		out_format(job->out, "%" PRId64, (int64_t)cell->number);
		break;
	case SHAPE_HEX:
		out_format(job->out, "0x%" PRIx64, cell->number);
		break;
	case SHAPE_HUNDREDTHS:
		out_format(job->out, "%" PRIu64 ".%02" PRIu64, cell->number / 100,
			   cell->number % 100);
		break;
	case SHAPE_STEPS:
		for (uint64_t i = 0; i < cell->weight; i++)
			out_format(job->out, "%s%" PRIu64, i ? " " : "", cell->steps[i]);
		break;
	case SHAPE_UNSIGNED:
		out_unsigned(job->out, cell->number);
		break;
	}
}

static void print_table(const struct tables_job *job, const struct table *table)
{
	const struct table_facts *facts = &table->facts;
	int unit = table_unit_column(facts);
	struct table_at at = { 0 };
	const struct table_cell *row;

	out_text(job->out, "table");
	for (unsigned i = 0; i < facts->column_count; i++)
		out_format(job->out, "%s,%s", (int)i == unit ? ",unit" : "",
			   table_key(&facts->columns[i]).text);
	out_char(job->out, '\n');
	while ((row = table_next(table, &at)) != NULL) {
		out_text(job->out, facts->name);
		for (unsigned c = 0; c < facts->column_count; c++) {
			if ((int)c == unit)
				out_format(job->out, ",%s", table_unit(facts, row) ?: "");
			out_char(job->out, ',');
			print_cell(job, facts->columns[c].kind, &row[c]);
		}
		out_char(job->out, '\n');
	}
}

void tables_print_csv(const struct tables_job *job)
{
	for (unsigned i = 0; i < job->tables->count; i++) {
		if (i)
			out_char(job->out, '\n');
		print_table(job, &job->tables->list[i]);
	}
}
