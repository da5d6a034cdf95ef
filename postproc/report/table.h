/* SPDX-License-Identifier: MIT */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

/*
 * The tables that a report fills: rows of typed cells, for any printer. The rows of reports.def
 * define the tables and the meaning of their columns. A cell is a bare value; units, widths and
 * names of functions are up to the printer. Sorting, sums and leaving rows out are done here.
 *
 * Functions that fill tables return no errors: an error is stored in the tables, and
 * tables_finish() returns it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "naming/naming.h"

enum table_kind {
	/* text: rows with the same text are adjacent; only for the first column */
	TABLE_GROUP,
	TABLE_TEXT,	 /* of foreign origin: the printer escapes it */
	TABLE_NOTE,	 /* a text that a screen shows as a line below the row, not as a column */
	TABLE_COUNT,	 /* a number that can be added up */
	TABLE_PROCESSES, /* a number of processes: not shown in a run of one process */
	TABLE_NUMBER,	 /* a number that cannot be added up: a pid */
	TABLE_BYTES,	 /* a count of bytes */
	TABLE_SIZE,	 /* bytes that cannot be added up: a limit, an average */
	/* by how much the number of the column before may be wrong, either way; sums add the
	   squares */
	TABLE_ERROR,
	TABLE_PART_ERROR, /* the same for a TABLE_PART or a curve: not added up */
	TABLE_AMOUNT,	  /* bytes or objects, depending on the row's class: table_amount() */
	/* an amount that includes those of other rows, or is included in theirs */
	TABLE_PART,
	TABLE_PART_COUNT, /* a number likewise */
	TABLE_CHANGE,	  /* difference of an amount: an int64_t */
	TABLE_NS,	  /* a duration in ns */
	TABLE_LONGEST,	  /* the longest of several durations */
	TABLE_TIME,	  /* a time in ns since the start of the run */
	TABLE_PERCENT,	  /* in hundredths of a percent */
	TABLE_SHARE,	  /* the same, as a part of the group: the rows add up to the whole */
	TABLE_BAR,	  /* the same, drawn as a bar if there is space */
	TABLE_CURVE,	  /* a number over the first column: a table with such columns is a chart */
	TABLE_CURVE_BYTES,
	TABLE_STEPS,	 /* amounts, one after another: drawn as a line, numbers for programs */
	TABLE_KEY,	 /* a number by which programs find a row; not shown on a screen */
	TABLE_OBJECT,	 /* an address or handle */
	TABLE_BACKTRACE, /* a backtrace in the address map of the run */
	TABLE_BRANCH,	 /* functions of a tree; rows are in pre-order */
};

/* A row of a tree: functions of which each leads only to the next. */
struct table_branch {
	uint32_t depth;	  /* number of rows on the path to it */
	bool is_outwards; /* frames run from callee to caller */
	uint32_t count;
	const struct naming_symbol *frames[];
};

#define TABLE_ROWS_READ 4096 /* rows of a group, the largest, that tables_fold() examines */

enum table_id {
#define TABLE(name, by, title) TABLE_##name,
#include "postproc/reports.def"
	TABLE_ID_COUNT
};

/*
 * Columns of all tables are numbered together: COLUMN_table_name - FIRST_table is the index in a
 * row.
 */
enum table_column_id {
	TABLE_COLUMN_NONE = -1,
#define TABLE(name, by, title)			    FIRST_##name, BEFORE_##name = FIRST_##name - 1,
#define COLUMN(table, name, kind, heading, meaning) COLUMN_##table##_##name,
#include "postproc/reports.def"
	TABLE_COLUMN_COUNT
};

/* The cell of a row: CELL(row, leaks, bytes). */
#define CELL(row, table, column) (&(row)[COLUMN_##table##_##column - FIRST_##table])

struct table_column {
	const char *name; /* in --by; JSON and CSV have table_key() */
	enum table_kind kind;
	const char *heading, *meaning;
};

struct table_facts {
	const char *name, *title;
	const char *by; /* column to sort by, the largest first; "": as added */
	const struct table_column *columns;
	unsigned column_count;
};

struct table_cell {
	bool is_set : 1;    /* false: the value is not known, or there is none */
	bool has_bytes : 1; /* TABLE_AMOUNT and the like: bytes */
	bool has_ns : 1;    /* likewise: ns */
	/*
	 * average or percentage: its divisor; TABLE_BACKTRACE: rows; TABLE_STEPS: number of steps;
	 * TABLE_GROUP: rank of the group
	 */
	uint64_t weight : 61;
	union {
		uint64_t number;
		const char *text; /* lives as long as the tables */
		const uint64_t *steps;
		const struct trace_node *backtrace;
		const struct table_branch *branch;
	};
};

_Static_assert(sizeof(struct table_cell) == 16, "there may be a row of them for each place");

/* Adjacent rows. */
struct table_group {
	const char *name; /* NULL: the table has no groups */
	size_t first;	  /* index of its first row */
	size_t shown;	  /* number of rows from there to print */
	size_t kept;	  /* number of rows from there in the table */
	size_t count;	  /* number of all its rows, see tables_bound() */
	/*
	 * By column, for those that can be added up: the sums of all rows, and of those not shown.
	 */
	struct table_cell *sums, *rest;
};

/* Which rows of a group will be read: see tables_bound(). */
struct table_bound {
	const char *by;
	size_t most; /* 0: all */
};

struct table {
	enum table_id id;
	struct table_facts facts;
	struct tables *tables; /* the tables that this one belongs to */
	ARRAY_OF(struct table_cell *) rows;
	size_t made;  /* allocated rows: those left out are reused, and are at the end */
	size_t limit; /* number of rows from which some are left out */
	ARRAY_OF(struct table_group) left_out; /* sums of the rows that were left out */
	struct {			       /* set by tables_finish() */
		struct table_group *items;
		size_t count, capacity;
	} groups;
	struct pool_recent recent; /* texts of its cells */
	const char *note;	   /* a line about the whole table, or NULL: see table_note() */
	/* not observed: having no rows does not mean that there are none */
	bool is_unknown;
};

/* The tables of some reports, in order. */
struct tables {
	struct pool pool; /* rows and texts */
	struct table_bound bound;
	struct table list[TABLE_ID_COUNT];
	unsigned count;
	const bool *wanted;    /* by id: whether a table is to be printed; NULL: all are */
	struct tables *others; /* has the tables that are not */
	struct error failure;  /* why they are not complete; number 0: they are */
};

struct table_facts table_facts(enum table_id id);

/* The index of the column with that name; -1: there is none. */
int table_column(const struct table_facts *facts, const char *name);

/* The key of a column in JSON, its heading in CSV: its name, with the unit that its kind has. */
struct table_key {
	char text[32];
};
struct table_key table_key(const struct table_column *column);

/*
 * The first of the columns whose unit (bytes, count or ns) differs from row to row: JSON and CSV
 * have the unit before it. -1: there is none. table_unit() is the unit of a row, NULL if no such
 * cell of it is set.
 */
int table_unit_column(const struct table_facts *facts);
const char *table_unit(const struct table_facts *facts, const struct table_cell *row);

void tables_init(struct tables *tables);
void tables_free(struct tables *tables);

/* Returns 0, or -errno with the reason why the tables are not complete. */
int tables_failure(const struct tables *tables, struct error *err);

/*
 * Before the first table: announces that only top rows (not 0) of each group will be printed, in
 * the order of by; tables_finish() and tables_fold() get the same values. A sorted table then keeps
 * only as many rows as they examine, and sums up the others.
 */
void tables_bound(struct tables *tables, const char *by, size_t top);

/* A table to fill; the same one if it was begun before. Never NULL. */
struct table *tables_begin(struct tables *tables, enum table_id id);

/* Adds a row whose cells are not set. Earlier rows must be complete: they may be removed. */
struct table_cell *table_add(struct table *table);

void table_number(struct table_cell *cell, uint64_t number);
void table_amount(struct table_cell *cell, uint64_t number, bool has_bytes);
/* An average: total / count; not set if count is 0. */
void table_average(struct table_cell *cell, uint64_t total, uint64_t count);
void table_percent(struct table_cell *cell, uint64_t part, uint64_t whole);
void table_backtrace(struct table_cell *cell, const struct trace_node *backtrace);

/* steps are copied; count 0: the cell is not set. */
void table_steps(struct table *table, struct table_cell *cell, const uint64_t *steps,
		 unsigned count);

/* text is copied; NULL or "": the cell is not set. */
void table_text(struct table *table, struct table_cell *cell, const char *text);

/* As table_text(), with a format of printf. */
void table_format(struct table *table, struct table_cell *cell, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Sets the line about the whole table, with a format of printf. */
void table_note(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory that lives as long as the tables. */
void *table_alloc(struct table *table, size_t size);

/* A group's name, and its rank among the groups. */
void table_group(struct table *table, struct table_cell *cell, const char *name, uint32_t rank);

/*
 * Sorts all tables, by the column with the name by if a table has it (NULL: by its own column),
 * joins the rows of each group and adds them up; at most top rows of each group are to be printed
 * (0: all). Returns 0 or -EINVAL if no table has such a column.
 */
int tables_finish(struct tables *tables, const char *by, size_t top, struct error *err);

/* Adds a cell of a column of that kind to a sum. Errors of different blocks add up as squares. */
void table_add_to(enum table_kind kind, struct table_cell *sum, const struct table_cell *cell);

/* How exact an estimate is, from its variance; not set for an exact number. */
void table_error(struct table_cell *cell, double variance, bool has_bytes);

/* The same for a number of objects. */
void table_count_error(struct table_cell *cell, uint64_t count, double variance);

/*
 * The text of a row without its numbers, or NULL if the row is not to be folded. The text is used
 * until the next call.
 */
typedef const char *table_reading(void *user, const struct table *table,
				  const struct table_cell *row);

/*
 * After tables_finish(), for readers who see no addresses: rows of a group with the same text
 * become one row, with the sums, the longest time and the average of all; its weight is the number
 * of rows. Of each group some multiple of top rows is examined (0: all). Tables with columns that
 * cannot be joined stay as they are.
 */
int tables_fold(struct tables *tables, const char *by, size_t top, table_reading *reading,
		void *user, struct error *err);

#endif
