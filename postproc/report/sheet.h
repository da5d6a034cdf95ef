/* SPDX-License-Identifier: MIT */
#ifndef REPORT_SHEET_H
#define REPORT_SHEET_H

/*
 * The tables that a report fills: rows of typed cells, for any printer. The rows of reports.def
 * define the tables and the meaning of their columns. A cell is a bare value; units, widths and
 * names of functions are up to the printer. Sorting, sums and leaving rows out are done here.
 *
 * Functions that fill tables return no errors: an error is stored in the tables, and
 * sheets_finish() returns it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "naming/naming.h"

enum sheet_kind {
	/* text: rows with the same text are adjacent; only for the first column */
	SHEET_GROUP,
	SHEET_TEXT,	 /* of foreign origin: the printer escapes it */
	SHEET_NOTE,	 /* a text that a screen shows as a line below the row, not as a column */
	SHEET_COUNT,	 /* a number that can be added up */
	SHEET_PROCESSES, /* a number of processes: not shown in a run of one process */
	SHEET_NUMBER,	 /* a number that cannot be added up: a pid */
	SHEET_BYTES,	 /* a count of bytes */
	SHEET_SIZE,	 /* bytes that cannot be added up: a limit, an average */
	/* by how much an estimate may be wrong, either way: stored as its square */
	SHEET_ERROR,
	SHEET_PART_ERROR, /* the same for a SHEET_PART or a curve: not added up */
	SHEET_AMOUNT,	  /* bytes or objects, depending on the row's class: sheet_amount() */
	/* an amount that includes those of other rows, or is included in theirs */
	SHEET_PART,
	SHEET_CHANGE,  /* difference of an amount: an int64_t */
	SHEET_NS,      /* a duration in ns */
	SHEET_LONGEST, /* the longest of several durations */
	SHEET_TIME,    /* a time in ns since the start of the run */
	SHEET_PERCENT, /* in hundredths of a percent */
	SHEET_SHARE,   /* the same, as a part of the group: the rows add up to the whole */
	SHEET_BAR,     /* the same, drawn as a bar if there is space */
	SHEET_CURVE,   /* a number over the first column: a table with such columns is a chart */
	SHEET_CURVE_BYTES,
	SHEET_STEPS,	 /* amounts, one after another: drawn as a line, numbers for programs */
	SHEET_KEY,	 /* a number by which programs find a row; not shown on a screen */
	SHEET_OBJECT,	 /* an address or handle */
	SHEET_BACKTRACE, /* a backtrace in the address map of the run */
	SHEET_BRANCH,	 /* functions of a tree; rows are in pre-order */
};

/* A row of a tree: functions of which each leads only to the next. */
struct sheet_branch {
	uint32_t depth;	  /* number of rows on the path to it */
	bool is_outwards; /* frames run from callee to caller */
	uint32_t count;
	const struct naming_symbol *frames[];
};

#define SHEET_ROWS_READ 4096 /* rows of a group, the largest, that sheets_fold() examines */

enum sheet_id {
#define SHEET(name, by, title) SHEET_##name,
#include "postproc/reports.def"
	SHEET_ID_COUNT
};

/*
 * Columns of all tables are numbered together: COLUMN_sheet_name - FIRST_sheet is the index in a
 * row.
 */
enum sheet_column_id {
	SHEET_COLUMN_NONE = -1,
#define SHEET(name, by, title)			    FIRST_##name, BEFORE_##name = FIRST_##name - 1,
#define COLUMN(sheet, name, kind, heading, meaning) COLUMN_##sheet##_##name,
#include "postproc/reports.def"
	SHEET_COLUMN_COUNT
};

/* The cell of a row: CELL(row, leaks, bytes). */
#define CELL(row, sheet, column) (&(row)[COLUMN_##sheet##_##column - FIRST_##sheet])

struct sheet_column {
	const char *name; /* in JSON, CSV and --by */
	enum sheet_kind kind;
	const char *heading, *meaning;
};

struct sheet_facts {
	const char *name, *title;
	const char *by; /* column to sort by, the largest first; "": as added */
	const struct sheet_column *columns;
	unsigned column_count;
};

struct sheet_cell {
	bool is_set : 1;    /* false: the value is not known, or there is none */
	bool has_bytes : 1; /* SHEET_AMOUNT and the like: bytes */
	bool has_ns : 1;    /* likewise: ns */
	/*
	 * average or percentage: its divisor; SHEET_BACKTRACE: rows; SHEET_STEPS: number of steps;
	 * SHEET_GROUP: rank of the group
	 */
	uint64_t weight : 61;
	union {
		uint64_t number;
		const char *text; /* lives as long as the tables */
		const uint64_t *steps;
		const struct trace_node *backtrace;
		const struct sheet_branch *branch;
	};
};

_Static_assert(sizeof(struct sheet_cell) == 16, "there may be a row of them for each place");

/* Adjacent rows. */
struct sheet_group {
	const char *name; /* NULL: the table has no groups */
	size_t first;	  /* index of its first row */
	size_t shown;	  /* number of rows from there to print */
	size_t kept;	  /* number of rows from there in the table */
	size_t count;	  /* number of all its rows, see sheets_bound() */
	/*
	 * By column, for those that can be added up: the sums of all rows, and of those not shown.
	 */
	struct sheet_cell *sums, *rest;
};

/* Which rows of a group will be read: see sheets_bound(). */
struct sheet_bound {
	const char *by;
	size_t most; /* 0: all */
};

struct sheet {
	enum sheet_id id;
	struct sheet_facts facts;
	struct sheets *sheets; /* the tables that this one belongs to */
	ARRAY_OF(struct sheet_cell *) rows;
	size_t made;  /* allocated rows: those left out are reused, and are at the end */
	size_t limit; /* number of rows from which some are left out */
	ARRAY_OF(struct sheet_group) left_out; /* sums of the rows that were left out */
	struct {			       /* set by sheets_finish() */
		struct sheet_group *items;
		size_t count, capacity;
	} groups;
	struct pool_recent recent; /* texts of its cells */
	const char *note;	   /* a line about the whole table, or NULL: see sheet_note() */
	/* not observed: having no rows does not mean that there are none */
	bool is_unknown;
};

/* The tables of some reports, in order. */
struct sheets {
	struct pool pool; /* rows and texts */
	struct sheet_bound bound;
	struct sheet list[SHEET_ID_COUNT];
	unsigned count;
	const bool *wanted;    /* by id: whether a table is to be printed; NULL: all are */
	struct sheets *others; /* has the tables that are not */
	struct error failure;  /* why they are not complete; number 0: they are */
};

struct sheet_facts sheet_facts(enum sheet_id id);

/* The index of the column with that name; -1: there is none. */
int sheet_column(const struct sheet_facts *facts, const char *name);

void sheets_init(struct sheets *sheets);
void sheets_free(struct sheets *sheets);

/* Returns 0, or -errno with the reason why the tables are not complete. */
int sheets_failure(const struct sheets *sheets, struct error *err);

/*
 * Before the first table: announces that only top rows (not 0) of each group will be printed, in
 * the order of by; sheets_finish() and sheets_fold() get the same values. A sorted table then keeps
 * only as many rows as they examine, and sums up the others.
 */
void sheets_bound(struct sheets *sheets, const char *by, size_t top);

/* A table to fill; the same one if it was begun before. Never NULL. */
struct sheet *sheets_begin(struct sheets *sheets, enum sheet_id id);

/* Adds a row whose cells are not set. Earlier rows must be complete: they may be removed. */
struct sheet_cell *sheet_add(struct sheet *sheet);

void sheet_number(struct sheet_cell *cell, uint64_t number);
void sheet_amount(struct sheet_cell *cell, uint64_t number, bool has_bytes);
/* An average: total / count; not set if count is 0. */
void sheet_average(struct sheet_cell *cell, uint64_t total, uint64_t count);
void sheet_percent(struct sheet_cell *cell, uint64_t part, uint64_t whole);
void sheet_backtrace(struct sheet_cell *cell, const struct trace_node *backtrace);

/* steps are copied; count 0: the cell is not set. */
void sheet_steps(struct sheet *sheet, struct sheet_cell *cell, const uint64_t *steps,
		 unsigned count);

/* text is copied; NULL or "": the cell is not set. */
void sheet_text(struct sheet *sheet, struct sheet_cell *cell, const char *text);

/* As sheet_text(), with a format of printf. */
void sheet_format(struct sheet *sheet, struct sheet_cell *cell, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Sets the line about the whole table, with a format of printf. */
void sheet_note(struct sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory that lives as long as the sheets. */
void *sheet_alloc(struct sheet *sheet, size_t size);

/* A group's name, and its rank among the groups. */
void sheet_group(struct sheet *sheet, struct sheet_cell *cell, const char *name, uint32_t rank);

/*
 * Sorts all tables, by the column with the name by if a table has it (NULL: by its own column),
 * joins the rows of each group and adds them up; at most top rows of each group are to be printed
 * (0: all). Returns 0 or -EINVAL if no table has such a column.
 */
int sheets_finish(struct sheets *sheets, const char *by, size_t top, struct error *err);

/* Adds a cell of a column of that kind to a sum. Errors of different blocks add up as squares. */
void sheet_add_to(enum sheet_kind kind, struct sheet_cell *sum, const struct sheet_cell *cell);

/* How exact an estimate is, from its variance; not set for an exact number. */
void sheet_error(struct sheet_cell *cell, double variance, bool has_bytes);

/* The same for a number of objects. */
void sheet_count_error(struct sheet_cell *cell, uint64_t count, double variance);

/*
 * The text of a row without its numbers, or NULL if the row is not to be folded. The text is used
 * until the next call.
 */
typedef const char *sheet_reading(void *user, const struct sheet *sheet,
				  const struct sheet_cell *row);

/*
 * After sheets_finish(), for readers who see no addresses: rows of a group with the same text
 * become one row, with the sums, the longest time and the average of all; its weight is the number
 * of rows. Of each group some multiple of top rows is examined (0: all). Tables with columns that
 * cannot be joined stay as they are.
 */
int sheets_fold(struct sheets *sheets, const char *by, size_t top, sheet_reading *reading,
		void *user, struct error *err);

#endif
