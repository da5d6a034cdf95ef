/* SPDX-License-Identifier: MIT */
#ifndef PRINT_TABLES_TEXT_H
#define PRINT_TABLES_TEXT_H

/*
 * The common declarations of the files that print a table as text: tables_layout.c formats cells
 * and sets widths, tables_chart.c prints charts, tables_text.c prints everything else. No other
 * file includes this one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "screen.h"
#include "tables.h"

#define COLUMNS_MAX 32
#define CELL_MAX    1024
#define INDENT	    2u
#define GAP	    2u
#define FOLD_INDENT 4u /* indentation of a row's further lines */

/* Minimum widths of the last column if it contains backtraces or branches. */
#define LAST_WIDTH_MIN	 28
#define BRANCH_WIDTH_MIN 20

/* Colours of the parts of a table, as codes for the palette of the terminal. */
#define COLOUR_TITLE "\033[1m"
#define COLOUR_GROUP "\033[1;36m"
#define COLOUR_HEAD  "\033[2m"
#define COLOUR_KEY   "\033[33m"
#define COLOUR_NOTE  "\033[2m"
#define COLOUR_BAR   "\033[32m"
#define COLOUR_WARN  "\033[31m"
#define COLOUR_END   "\033[0m"

/*
 * The layout of a table. The last column gets the rest of the line, and may continue in further
 * lines.
 */
struct layout {
	const struct tables_job *job;
	const struct table *table;
	size_t widths[COLUMNS_MAX]; /* 0: the column is not shown */
	/*
	 * width of the longest word that is not a path; the last column is at least as wide as this
	 */
	size_t words[COLUMNS_MAX];
	unsigned last;		  /* number of the last column */
	int by;			  /* the column by which the rows are sorted, or -1 */
	size_t last_at;		  /* column of the terminal where the last column begins */
	unsigned bar;		  /* the column of shares with bars beside its numbers */
	size_t bar_width;	  /* width of these bars; 0: no column has bars */
	bool begins[COLUMNS_MAX]; /* whether the column begins a new line within the row */
	/*
	 * the texts of the column are sentences: each is printed on lines of its own, from column
	 * last_at, and never cut
	 */
	bool is_sentence[COLUMNS_MAX];
};

static inline void text_colour(const struct tables_job *job, const char *code)
{
	if (job->style->has_colour)
		out_text(job->out, code);
}

static inline void text_blanks(struct out *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out_char(out, ' ');
}

static inline void text_line(const struct tables_job *job, const char *code, const char *text)
{
	text_colour(job, code);
	out_name(job->out, text, strlen(text), ESCAPE_ALL);
	text_colour(job, COLOUR_END);
	out_char(job->out, '\n');
}

/* Whether a column is aligned to the left; numbers are aligned to the right. */
bool tables_is_left(enum table_kind kind);

/* Draws a share as a bar of at most `width` columns. Returns the width of the bar. */
size_t tables_draw_bar(const struct tables_job *job, const struct table_cell *cell, size_t width);

/* Formats a cell. text: a buffer of CELL_MAX bytes. */
void tables_format_cell(char *text, enum table_kind kind, const struct table_cell *cell);

/* Returns the width of the terminal: at least 40, and 80 if it is unknown. */
unsigned tables_width(const struct tables_job *job);

/*
 * Whether a column is printed below the row. If a table has several columns of backtraces, all but
 * the last one are printed below the row.
 */
bool tables_is_below(const struct layout *layout, unsigned column);

/* Returns the width of a column with its bar. */
static inline size_t tables_column_width(const struct layout *layout, unsigned column)
{
	bool has_bar = column == layout->bar && layout->bar_width;

	return layout->widths[column] + (has_bar ? 1 + layout->bar_width : 0);
}

/* Sets `widths`, `last`, `last_at` and the bar from the rows that are shown. */
void tables_lay_out(struct layout *layout);

#endif
