/* SPDX-License-Identifier: MIT */
#ifndef PRINT_SHEETS_H
#define PRINT_SHEETS_H

/*
 * Prints sheets, whatever is in them: as text for people, as JSON and CSV for programs, trees as
 * lines for flame graphs. They know kinds of columns, and no report.
 */

#include <stdbool.h>

#include "base/out.h"
#include "formats/writers.h"
#include "postproc/report/report.h"
#include "postproc/report/sheet.h"
#include "naming/naming.h"

struct sheets_style {
	const struct writer *format; /* of sheets_at() */
	/* of text */
	unsigned width; /* columns of the terminal; 0: 80 */
	bool has_colour;
	bool has_blocks;  /* the terminal shows Unicode: charts are drawn by it */
	bool is_verbose;  /* names and backtraces whole */
	bool shows_empty; /* tables without a row have a line of their own each */
	/* The next command stands around the next report: "holdtrace report ", " FILE"; or NULL. */
	const char *before_next, *behind_next;
	const struct baseline *learned; /* of baseline: what the run has of each limit */
};

/*
 * rows: the reports that were asked for, count of them; 0: these sheets are only a part, with no
 * last lines. Errors are kept by out. */
void sheets_print(const struct sheets *sheets, const struct report_run *run, struct naming *naming,
		  const struct report_row *const *rows, unsigned count,
		  const struct sheets_style *style, struct out *out);

/* False: the format is for trees, and no sheet has one. */
bool sheets_fit(const struct sheets *sheets, const struct writer *format);

/* What sheets_print_NAME of formats.def get. */
struct sheets_job {
	const struct sheets *sheets;
	const struct report_run *run;
	struct naming *naming;
	const struct report_row *const *rows;
	unsigned count;
	const struct sheets_style *style;
	struct out *out;
};

/*
 * Of text, after sheets_finish(): rows of the same call site become one. by and top as there.
 */
int sheets_fold_same(struct sheets *sheets, struct naming *naming, const char *by, size_t top,
		     struct error *err);

/* Of text: whether the sheet has curves, and its chart. It has rows, and a first column of TIME. */
bool sheets_is_chart(const struct sheet *sheet);
void sheets_print_chart(const struct sheets_job *job, const struct sheet *sheet);

/* Of JSON and CSV: what a program reads in a cell of that kind. */
enum sheets_shape {
	SHAPE_TEXT,
	SHAPE_BACKTRACE,
	SHAPE_BRANCH,
	SHAPE_SIGNED,
	SHAPE_HEX,
	SHAPE_HUNDREDTHS, /* of what is meant: 12.34 */
	SHAPE_STEPS,	  /* several unsigned ones */
	SHAPE_UNSIGNED,
};
enum sheets_shape sheets_shape(enum sheet_kind kind);

#endif
