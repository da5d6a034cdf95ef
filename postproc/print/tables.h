/* SPDX-License-Identifier: MIT */
#ifndef PRINT_TABLES_H
#define PRINT_TABLES_H

/*
 * Prints tables: as text for people, as JSON and CSV for programs, and trees as lines for flame
 * graphs. The printers know only the kinds of columns, not the reports.
 */

#include <stdbool.h>

#include "base/out.h"
#include "formats/writers.h"
#include "postproc/report/report.h"
#include "postproc/report/table.h"
#include "naming/naming.h"

struct verdicts;
struct source_style;

struct tables_style {
	const struct writer *format; /* the format, as tables_at() returns it */
	const char *words; /* after the format's name, see format_has_word(); NULL: none */
	/* the members up to behind_next are for the format `text` */
	unsigned width; /* columns of the terminal; 0: unknown, so 80 is assumed */
	bool has_colour;
	bool has_blocks;  /* the terminal shows Unicode block characters, which charts then use */
	bool is_verbose;  /* print whole names and backtraces */
	bool shows_empty; /* print a separate line for each table without rows */
	/*
	 * For the suggested next command: the texts before and after the name of the report, such
	 * as "holdtrace report " and " FILE". If before_next is NULL, no command is suggested.
	 */
	const char *before_next, *behind_next;
	/* the values of this run, for --format=baseline and (with limits) --format=json */
	const struct baseline *learned;
	/* for the formats that print messages with source lines, such as gcc and sarif */
	const struct verdicts *verdicts;
	const struct source_style *source;
};

/*
 * Prints tables in a format. rows: the `count` requested reports. count 0: the tables are only a
 * part of the output, so the lines after the last table are left out. An error of writing is stored
 * in `out`.
 */
void tables_print(const struct tables *tables, const struct report_run *run, struct naming *naming,
		  const struct report_row *const *rows, unsigned count,
		  const struct tables_style *style, struct out *out);

/* Whether the format can print these tables. A format for trees needs at least one tree. */
bool tables_fit(const struct tables *tables, const struct writer *format);

/* The parameters of tables_print_NAME() (formats.def). */
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
 * Merges rows with the same call site. Call it for text, after tables_finish() and with the same
 * `by` and `top`.
 */
int tables_fold_same(struct tables *tables, struct naming *naming, const char *by, size_t top,
		     struct error *err);

/*
 * For text: tables_is_chart() returns whether a table has curves, tables_print_chart() prints its
 * chart. The table must have rows, and a first column of the kind TABLE_TIME.
 */
bool tables_is_chart(const struct table *table);
void tables_print_chart(const struct tables_job *job, const struct table *table);

/*
 * Prints the tables of one run as lines, which postproc/sets.h joins with the lines of other runs.
 * tables_can_join() returns whether the rows of a table in several runs can be joined; other tables
 * are left out.
 */
bool tables_can_join(const struct table_facts *facts);
void tables_print_lines(const struct tables_job *job);

struct json;

/* Adds the values of a run as a list with the key "baseline" (postproc/gate/baseline.c). */
void tables_add_baseline(struct json *json, const struct baseline *baseline);

/* The form of a cell in JSON, CSV and HTML, which depends on the kind of the column. */
enum tables_shape {
	SHAPE_TEXT,
	SHAPE_BACKTRACE,
	SHAPE_BRANCH,
	SHAPE_SIGNED,
	SHAPE_HEX,
	SHAPE_HUNDREDTHS, /* hundredths: 1234 means 12.34 */
	SHAPE_STEPS,	  /* an array of unsigned numbers */
	SHAPE_UNSIGNED,
};
enum tables_shape tables_shape(enum table_kind kind);

#endif
