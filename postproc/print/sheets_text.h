/* SPDX-License-Identifier: MIT */
#ifndef PRINT_SHEETS_TEXT_H
#define PRINT_SHEETS_TEXT_H

/*
 * A sheet as text, between its parts: sheets_cells.c says what is in a cell, sheets_layout.c how
 * wide columns are, sheets_flow.c prints the last column, sheets_text.c all else. Nobody else
 * includes this.
 */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "screen.h"
#include "sheets.h"

#define COLUMNS_MAX 32
#define CELL_MAX    1024
#define INDENT	    2u
#define GAP	    2u
#define FOLD_INDENT 4u /* of the further lines of a row */

/* Of the last column, if it flows. */
#define LAST_WIDTH_MIN	 28
#define BRANCH_WIDTH_MIN 20

/* Colours by what is said, few and from the palette of the terminal. */
#define COLOUR_TITLE "\033[1m"
#define COLOUR_GROUP "\033[1;36m"
#define COLOUR_HEAD  "\033[2m"
#define COLOUR_KEY   "\033[33m"
#define COLOUR_NOTE  "\033[2m"
#define COLOUR_WARN  "\033[31m"
#define COLOUR_END   "\033[0m"

/* How a sheet is laid out. The last column has what is left of the line, and may go on in more. */
struct layout {
	const struct sheets_job *job;
	const struct sheet *sheet;
	size_t widths[COLUMNS_MAX]; /* 0: not shown */
	size_t words[COLUMNS_MAX];  /* the longest that is not broken; paths may be longer */
	unsigned last;		    /* the column that takes the rest */
	int by;			    /* the column that it is sorted by, or -1 */
	size_t last_at;		    /* where it begins */
	bool begins[COLUMNS_MAX];   /* the column begins a further line of the row */
};

static inline void text_colour(const struct sheets_job *job, const char *code)
{
	if (job->style->has_colour)
		out_text(job->out, code);
}

static inline void text_blanks(struct out *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out_char(out, ' ');
}

static inline void text_line(const struct sheets_job *job, const char *code, const char *text)
{
	text_colour(job, code);
	out_name(job->out, text, strlen(text), ESCAPE_ALL);
	text_colour(job, COLOUR_END);
	out_char(job->out, '\n');
}

/* Numbers stand at the right of their column, all else at its left. */
bool sheets_is_left(enum sheet_kind kind);

/* A cell as it is read; text has room for CELL_MAX. */
void sheets_format_cell(char *text, enum sheet_kind kind, const struct sheet_cell *cell);

/* Of the terminal. */
unsigned sheets_width(const struct sheets_job *job);

/* Of two backtraces of a row the last one stands in its column, the other below the row. */
bool sheets_is_below(const struct layout *layout, unsigned column);

/* Fills widths, last and last_at for the rows that are shown. */
void sheets_lay_out(struct layout *layout);

/* The last column of a row. at: columns of the terminal that its line has so far, with the gap, the
 * blanks at its end that are not printed yet. */
void sheets_print_last(const struct layout *layout, size_t at, size_t gap,
		       const struct sheet_cell *cell);

/* A backtrace below its row: behind its heading, and on in the same column. */
void sheets_print_below(const struct layout *layout, const char *heading,
			const struct trace_node *backtrace);

#endif
