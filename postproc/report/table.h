/* SPDX-License-Identifier: MIT */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

/*
 * The tables that a report fills: rows of typed cells, for any printer. reports.def defines the
 * tables and the meaning of their columns. A cell has only a value; the printer adds units, widths
 * and names of functions. This file sorts rows, adds them up and removes rows that are not shown.
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
	/*
	 * a text, only in the first column; rows with the same text are adjacent and form a group
	 */
	TABLE_GROUP,
	TABLE_TEXT, /* a text, perhaps from an untrusted file; the printer escapes it */
	TABLE_NOTE, /* a text that is printed on a line below the row, not in a column */
	/* like TABLE_NOTE: the type of the objects; "several types" if joined rows differ */
	TABLE_TYPE,
	TABLE_COUNT,	 /* a number that can be added up */
	TABLE_PROCESSES, /* a number of processes; not printed if the run has only one process */
	TABLE_NUMBER,	 /* a number that cannot be added up, such as a pid */
	TABLE_BYTES,	 /* a number of bytes that can be added up */
	TABLE_SIZE,	 /* a number of bytes that cannot be added up, such as an average */
	/*
	 * the maximum error, in either direction, of the number in the previous column; a sum is
	 * the square root of the sum of the squares
	 */
	TABLE_ERROR,
	TABLE_PART_ERROR, /* the maximum error of a TABLE_PART or a curve; cannot be added up */
	TABLE_AMOUNT,	  /* an amount of bytes or objects, depending on the row's class */
	/*
	 * an amount that includes amounts of other rows or is included in them; cannot be added up
	 */
	TABLE_PART,
	TABLE_PART_COUNT, /* a number that includes numbers of other rows or is included in them */
	TABLE_CHANGE,	  /* the difference between two amounts: an int64_t */
	TABLE_NS,	  /* a duration in ns */
	TABLE_LONGEST,	  /* the longest of several durations */
	TABLE_MEAN,	  /* the average of several durations */
	TABLE_TIME,	  /* a time in ns since the start of the run */
	TABLE_PERCENT,	  /* a share in hundredths of a percent */
	/* like TABLE_PERCENT, but the shares of all rows of a group add up to 100 % */
	TABLE_SHARE,
	TABLE_BAR, /* like TABLE_PERCENT; drawn as a bar if there is space */
	/* a number that depends on the first column; such a table is printed as a chart */
	TABLE_CURVE,
	TABLE_CURVE_BYTES,
	/* a sequence of amounts: a small curve in text, numbers in other formats */
	TABLE_STEPS,
	TABLE_KEY,	 /* a number by which programs identify a row; not printed in text */
	TABLE_OBJECT,	 /* an address or handle */
	TABLE_BACKTRACE, /* a backtrace in the address map of the run */
	TABLE_BRANCH,	 /* functions of a tree, whose rows are in pre-order */
};

/*
 * A row of a tree: a chain of functions, each of which calls only the next one; or a call site
 * without addresses.
 */
struct table_branch {
	uint32_t depth;	  /* number of ancestors of the row in the tree */
	bool is_outwards; /* frames are in the order from callee to caller */
	/*
	 * For a call site in a table about several runs: its lines in text output, separated by \1;
	 * the first `site` lines are always printed. NULL: the row of a tree.
	 */
	const char *lines;
	uint32_t site;
	uint32_t count;
	const struct naming_symbol *frames[];
};

/* tables_fold() examines this many rows of a group, the first ones after sorting */
#define TABLE_ROWS_READ 4096

enum table_id {
#define TABLE(name, by, title) TABLE_##name,
#include "postproc/reports.def"
	TABLE_ID_COUNT
};

/*
 * Numbers of columns. They are consecutive over all tables: COLUMN_table_name - FIRST_table is the
 * index of a column in its row.
 */
enum table_column_id {
	TABLE_COLUMN_NONE = -1,
#define TABLE(name, by, title)			    FIRST_##name, BEFORE_##name = FIRST_##name - 1,
#define COLUMN(table, name, kind, heading, meaning) COLUMN_##table##_##name,
#include "postproc/reports.def"
	TABLE_COLUMN_COUNT
};

/* The cell of a row in a column of a table: CELL(row, leaks, bytes). */
#define CELL(row, table, column) (&(row)[COLUMN_##table##_##column - FIRST_##table])

struct table_column {
	/*
	 * the name, without a unit. --by accepts this name and the key of table_key(), which
	 * includes the unit
	 */
	const char *name;
	enum table_kind kind;
	const char *heading, *meaning;
};

struct table_facts {
	const char *name, *title;
	/* column to sort by, the largest number first; "": rows stay in the order of addition */
	const char *by;
	const struct table_column *columns;
	unsigned column_count;
};

struct table_cell {
	bool is_set : 1;    /* false: the value is missing or unknown */
	bool has_bytes : 1; /* for TABLE_AMOUNT and similar kinds: the number is in bytes */
	bool has_ns : 1;    /* for TABLE_AMOUNT and similar kinds: the number is in ns */
	/*
	 * For an average or a percentage: the divisor. TABLE_BACKTRACE: number of rows that were
	 * folded into this one. TABLE_STEPS: number of steps. TABLE_GROUP: rank of the group.
	 */
	uint64_t weight : 61;
	union {
		uint64_t number;
		const char *text; /* a text that is valid until tables_free() */
		const uint64_t *steps;
		const struct trace_node *backtrace;
		const struct table_branch *branch;
	};
};

_Static_assert(sizeof(struct table_cell) == 16,
	       "a cell must have 16 bytes, since a table may have a row for each call site");

/* A group of adjacent rows. */
struct table_group {
	const char *name; /* name; NULL: the table has no groups */
	size_t first;	  /* index of the group's first row */
	size_t shown;	  /* number of rows that are printed, from the first on */
	size_t kept;	  /* number of the group's rows that are still in the table */
	/* number of the group's rows, including removed ones: see tables_bound() */
	size_t count;
	/*
	 * One cell for each column that can be added up. sums: of all rows; rest: of the rows that
	 * are not printed.
	 */
	struct table_cell *sums, *rest;
};

/* Which rows of a group are kept: see tables_bound(). */
struct table_bound {
	const char *by;
	/* how many rows of a group are kept: the first ones in the order of column `by`; 0: all */
	size_t most;
};

struct table {
	enum table_id id;
	struct table_facts facts;
	struct tables *tables; /* the set that this table belongs to */
	ARRAY_OF(struct table_cell *) rows;
	/* number of allocated rows; those after rows.count were removed, and are reused */
	size_t made;
	size_t limit; /* if rows.count reaches this number, leave_out() removes rows */
	/* groups with the sums of the rows that were removed */
	ARRAY_OF(struct table_group) left_out;
	struct { /* the groups, which tables_finish() makes */
		struct table_group *items;
		size_t count, capacity;
	} groups;
	struct pool_recent recent; /* recent texts of cells, to share equal texts */
	const char *note;	   /* a line about the whole table, see table_note(); NULL: none */
	/* not everything was observed, so an empty table does not mean that nothing happened */
	bool is_unknown;
};

/* The tables of some reports, in the order in which they were begun. */
struct tables {
	struct pool pool; /* memory of rows and texts */
	struct table_bound bound;
	struct table list[TABLE_ID_COUNT];
	unsigned count;
	/* indexed by table_id: whether the table is printed; NULL: all are */
	const bool *wanted;
	struct tables *others; /* the tables that are not printed */
	struct error failure;  /* why the tables are incomplete; number 0: they are complete */
};

/* A position among the rows that are shown. Initialise it with zeros. */
struct table_at {
	size_t group; /* group of the row that table_next() has returned */
	size_t row;   /* number of the group's next row */
};

/* Returns the next row that is shown, or NULL after the last one. Call it after tables_finish(). */
static inline const struct table_cell *table_next(const struct table *table, struct table_at *at)
{
	for (; at->group < table->groups.count; at->group++, at->row = 0) {
		const struct table_group *group = &table->groups.items[at->group];

		if (at->row < group->shown)
			return table->rows.items[group->first + at->row++];
	}
	return NULL;
}

struct table_facts table_facts(enum table_id id);

/* Returns the index of the column with that name, or TABLE_COLUMN_NONE (-1). */
int table_column(const struct table_facts *facts, const char *name);

/*
 * The key of a column in JSON and its heading in CSV: the name of the column and, if its kind has
 * one, the unit.
 */
struct table_key {
	char text[32];
};
struct table_key table_key(const struct table_column *column);

/*
 * In some columns the unit (bytes, count or ns) differs from row to row. table_unit_column()
 * returns the first of these columns, or -1 if there is none; JSON and CSV print the unit before
 * that column. table_unit() returns the unit of a row, or NULL if no cell of the row needs a unit.
 */
int table_unit_column(const struct table_facts *facts);
const char *table_unit(const struct table_facts *facts, const struct table_cell *row);

void tables_init(struct tables *tables);
void tables_free(struct tables *tables);

/* Returns 0 if the tables are complete, else a negative errno, with the reason in err. */
int tables_failure(const struct tables *tables, struct error *err);

/*
 * Limits the memory of the tables. The caller promises to call tables_finish() and tables_fold()
 * with the same `by` and `top`; `top` must not be 0. A sorted table then stores only as many rows
 * of each group as these functions examine, and adds up the other rows. Call it before
 * tables_begin().
 */
void tables_bound(struct tables *tables, const char *by, size_t top);

/* Returns the table with that id, for the caller to fill. Adds it if necessary. Never NULL. */
struct table *tables_begin(struct tables *tables, enum table_id id);

/* Adds a row with unset cells. Earlier rows must be complete, because this call may remove rows. */
struct table_cell *table_add(struct table *table);

void table_number(struct table_cell *cell, uint64_t number);
/* Like table_number(), but if the number is 0, the cell stays unset. */
void table_count(struct table_cell *cell, uint64_t number);
void table_amount(struct table_cell *cell, uint64_t number, bool has_bytes);
/* Sets an average: total / count. If `count` is 0, the cell stays unset. */
void table_average(struct table_cell *cell, uint64_t total, uint64_t count);
void table_percent(struct table_cell *cell, uint64_t part, uint64_t whole);
/* If `backtrace` is NULL, the cell stays unset. */
void table_backtrace(struct table_cell *cell, const struct trace_node *backtrace);

/* Copies the steps. If `count` is 0, the cell stays unset. */
void table_steps(struct table *table, struct table_cell *cell, const uint64_t *steps,
		 unsigned count);

/* Copies the text. If it is NULL or "", the cell stays unset. */
void table_text(struct table *table, struct table_cell *cell, const char *text);

/* Like table_text(), with a format of printf. */
void table_format(struct table *table, struct table_cell *cell, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Sets the note of the table, with a format of printf. */
void table_note(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns zeroed memory that is valid until tables_free(). */
void *table_alloc(struct table *table, size_t size);

/* Sets the group of a row: its name, and its rank among the groups. */
void table_group(struct table *table, struct table_cell *cell, const char *name, uint32_t rank);

/*
 * Completes all tables: sorts the rows by the column `by` (if `by` is NULL or the table has no such
 * column, by the table's default column), makes the groups and their sums, and marks the first
 * `top` rows of each group to be printed (0: all). Returns 0, or -EINVAL if no table has the
 * column.
 */
int tables_finish(struct tables *tables, const char *by, size_t top, struct error *err);

/*
 * Adds a cell to a sum. kind: the kind of the column. For errors (TABLE_ERROR) the sum is the
 * square root of the sum of the squares.
 */
void table_add_to(enum table_kind kind, struct table_cell *sum, const struct table_cell *cell);

/* Stores the statistical error of an estimate in the cell; a variance of 0 leaves it unset. */
void table_error(struct table_cell *cell, double variance, bool has_bytes);

/* Like table_error(), for an estimated number of objects. */
void table_count_error(struct table_cell *cell, uint64_t count, double variance);

/*
 * Returns the text of a row without its numbers: rows with the same text are joined. NULL: the row
 * must not be joined. The text is valid until the next call.
 */
typedef const char *table_reading(void *user, const struct table *table,
				  const struct table_cell *row);

/*
 * Joins the rows of a group that have the same text, for output without addresses. Call it after
 * tables_finish(). Numbers are added up; the joined row has the maximum of the longest durations,
 * weighted means of averages and percentages, and the number of joined rows as the weight of its
 * backtrace. Joins only the first TABLE_ROWS_READ rows of a group. Does not change tables with
 * columns that cannot be joined. by, top: the same as for tables_finish().
 */
int tables_fold(struct tables *tables, const char *by, size_t top, table_reading *reading,
		void *user, struct error *err);

#endif
