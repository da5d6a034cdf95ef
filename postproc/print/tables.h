/* SPDX-License-Identifier: MIT */
#ifndef PRINT_TABLES_H
#define PRINT_TABLES_H

/*
 * Prints tables: as text for people, as JSON and CSV for programs, trees as lines for flame graphs.
 * The printers know kinds of columns and no report.
 */

#include <stdbool.h>

#include "base/out.h"
#include "formats/writers.h"
#include "postproc/report/report.h"
#include "postproc/report/table.h"
#include "naming/naming.h"

struct tables_style {
	const struct writer *format; /* of tables_at() */
	/* of text */
	unsigned width; /* columns of the terminal; 0: 80 */
	bool has_colour;
	bool has_blocks;  /* the terminal shows Unicode, which charts then use */
	bool is_verbose;  /* print whole names and backtraces */
	bool shows_empty; /* each table without a row has its own line */
	/*
	 * The command for the next report is before_next, the report, behind_next: "holdtrace
	 * report ", " FILE". NULL: unknown.
	 */
	const char *before_next, *behind_next;
	const struct baseline *learned; /* for baseline: the run's value of each limit */
};

/*
 * Prints tables in a format. rows: the count reports that were requested; 0: the tables are only a
 * part of the output, without the last lines. out keeps errors.
 */
void tables_print(const struct tables *tables, const struct report_run *run, struct naming *naming,
		  const struct report_row *const *rows, unsigned count,
		  const struct tables_style *style, struct out *out);

/* Whether a format can print these tables: false if it is for trees and no table has one. */
bool tables_fit(const struct tables *tables, const struct writer *format);

/* The arguments of tables_print_NAME (formats.def). */
struct tables_job {
	const struct tables *tables;
	const struct report_run *run;
	struct naming *naming;
	const struct report_row *const *rows;
	unsigned count;
	const struct tables_style *style;
	struct out *out;
};

/*
 * For text, after tables_finish(): joins rows of the same call site. by and top as for
 * tables_finish().
 */
int tables_fold_same(struct tables *tables, struct naming *naming, const char *by, size_t top,
		     struct error *err);

/*
 * For text: whether a table has curves, and the printing of its chart. The table must have rows,
 * and a first column of kind TIME.
 */
bool tables_is_chart(const struct table *table);
void tables_print_chart(const struct tables_job *job, const struct table *table);

/* For JSON, CSV and HTML: the form of a cell of each kind. */
enum tables_shape {
	SHAPE_TEXT,
	SHAPE_BACKTRACE,
	SHAPE_BRANCH,
	SHAPE_SIGNED,
	SHAPE_HEX,
	SHAPE_HUNDREDTHS, /* 1234 is 12.34 */
	SHAPE_STEPS,	  /* an array of unsigned numbers */
	SHAPE_UNSIGNED,
};
enum tables_shape tables_shape(enum table_kind kind);

#endif
