/* SPDX-License-Identifier: MIT */
/*
 * How wide the columns of a sheet are: as wide as what is in them, so that what nobody has is no
 * column. The last one begins on a line of its own where too little of the row's line is left.
 */
#include "postproc/writers/sheets_text.h"

#define TEXT_WIDTH_MIN 12

unsigned sheets_width(const struct sheets_job *job)
{
	unsigned width = job->style->width ? job->style->width : 80;

	return width < 40 ? 40 : width;
}

bool sheets_is_below(const struct layout *layout, unsigned column)
{
	const struct sheet_facts *facts = &layout->sheet->facts;

	return facts->columns[column].kind == SHEET_NOTE ||
	       (facts->columns[column].kind == SHEET_BACKTRACE && column + 1 < facts->column_count);
}

static bool is_column(const struct layout *layout, unsigned column)
{
	enum sheet_kind kind = layout->sheet->facts.columns[column].kind;

	return kind != SHEET_GROUP && !sheets_is_below(layout, column) && kind != SHEET_KEY &&
	       (kind != SHEET_PROCESSES || layout->job->run->summary->processes.count > 1);
}

static void measure_row(struct layout *layout, const struct sheet_cell *row)
{
	char text[CELL_MAX];

	for (unsigned i = 0; i < layout->sheet->facts.column_count; i++) {
		enum sheet_kind kind = layout->sheet->facts.columns[i].kind;
		size_t length;

		if (!row[i].is_set || !is_column(layout, i))
			continue;
		sheets_format_cell(text, kind, &row[i]);
		length = kind == SHEET_BACKTRACE || kind == SHEET_BRANCH ? 1 : strlen(text);
		if (length > layout->widths[i])
			layout->widths[i] = length;
	}
}

/* What nobody has is no column; a heading needs its room, too. */
static void measure(struct layout *layout)
{
	const struct sheet *sheet = layout->sheet;
	size_t most = sheets_width(layout->job) / 3;

	for (size_t g = 0; g < sheet->groups.count; g++)
		for (size_t i = 0; i < sheet->groups.items[g].shown; i++)
			measure_row(layout, sheet->rows.items[sheet->groups.items[g].first + i]);
	if (most < TEXT_WIDTH_MIN)
		most = TEXT_WIDTH_MIN;
	for (unsigned i = 0; i < sheet->facts.column_count; i++) {
		const struct sheet_column *column = &sheet->facts.columns[i];
		size_t heading = strlen(column->heading);

		if (!layout->widths[i])
			continue;
		layout->last = i;
		if (column->kind == SHEET_TEXT && layout->widths[i] > most)
			layout->widths[i] = most;
		if (heading > layout->widths[i])
			layout->widths[i] = heading;
	}
}

/* What does not flow has its width, what does should have some room. */
static size_t least_width(const struct layout *layout)
{
	enum sheet_kind kind = layout->sheet->facts.columns[layout->last].kind;
	size_t width = layout->widths[layout->last];

	if (kind == SHEET_BACKTRACE)
		return LAST_WIDTH_MIN;
	if (kind == SHEET_BRANCH)
		return BRANCH_WIDTH_MIN;
	return kind == SHEET_TEXT && width > LAST_WIDTH_MIN ? LAST_WIDTH_MIN : width;
}

static void place_last(struct layout *layout)
{
	layout->last_at = INDENT;
	for (unsigned i = 0; i < layout->last; i++)
		if (layout->widths[i])
			layout->last_at += layout->widths[i] + GAP;
	if (layout->last_at + least_width(layout) > sheets_width(layout->job))
		layout->last_at = 3 * INDENT;
}

void sheets_lay_out(struct layout *layout)
{
	measure(layout);
	place_last(layout);
}
