/* SPDX-License-Identifier: MIT */
#ifndef REPORT_SHEET_H
#define REPORT_SHEET_H

/*
 * What a report finds out: sheets of rows and columns, for whatever writer. Which sheets there are
 * and what their columns mean are rows of reports.def. A cell is a bare value; units, widths and
 * names of functions are the writer's. Sorting, sums and what is left out are settled here.
 *
 * Whoever fills sheets need not ask whether there is memory: that there was none is kept as the
 * failure of the sheets, and sheets_finish() says so.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "naming/naming.h"

enum sheet_kind {
	SHEET_GROUP,	  /* text: rows with the same one stand together; the first column alone */
	SHEET_TEXT,	  /* of foreign origin: whoever prints it escapes it */
	SHEET_NOTE,	  /* a text that is no column on a screen, but a line below the row */
	SHEET_COUNT,	  /* a number that can be summed up */
	SHEET_PROCESSES,  /* a number of processes: of no interest in a run of one */
	SHEET_NUMBER,	  /* one that cannot: pid */
	SHEET_BYTES,	  /* a count of bytes */
	SHEET_SIZE,	  /* bytes that it makes no sense to sum up: a limit, an average */
	SHEET_ERROR,	  /* by how much an estimate may be wrong, either way: in squares */
	SHEET_PART_ERROR, /* the same of a SHEET_PART or a curve: of no sum */
	SHEET_AMOUNT,	  /* bytes or objects, as the row's class has it: sheet_amount() */
	SHEET_PART,	  /* an amount that has those of other rows in it, or is in theirs */
	SHEET_CHANGE,	  /* an amount more (or less, a negative int64_t) */
	SHEET_NS,	  /* a length of time in ns */
	SHEET_LONGEST,	  /* the longest of several */
	SHEET_TIME,	  /* a point of time in ns since the start of the run */
	SHEET_PERCENT,	  /* in hundredths of a percent */
	SHEET_SHARE,	  /* the same, of all of the group: rows add up to it */
	SHEET_BAR,	  /* the same, drawn where there is room */
	SHEET_CURVE,	  /* a number over the first column: a sheet that has some is a chart */
	SHEET_CURVE_BYTES,
	SHEET_STEPS,	 /* amounts, one after another: drawn in a line, numbers for programs */
	SHEET_KEY,	 /* a number by which programs find a row; not on a screen */
	SHEET_OBJECT,	 /* an address or handle */
	SHEET_BACKTRACE, /* frames in the atlas of the run */
	SHEET_BRANCH,	 /* functions of a tree; rows stand in pre-order */
};

/* What stands in a row of a tree: functions that lead to nothing but the next. */
struct sheet_branch {
	uint32_t depth;	  /* rows that lead to it */
	bool is_outwards; /* from what was called to who called it */
	uint32_t count;
	const struct naming_symbol *frames[];
};

#define SHEET_ROWS_READ 4096 /* of a group, the weightiest: what sheets_fold() looks at */

enum sheet_id {
#define SHEET(name, by, title) SHEET_##name,
#include "postproc/reports.def"
	SHEET_ID_COUNT
};

/* Columns of all sheets have one count: COLUMN_sheet_name - FIRST_sheet is the place in a row. */
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
	const char *by; /* column that it is sorted by, the largest first; "": as added */
	const struct sheet_column *columns;
	unsigned column_count;
};

struct sheet_cell {
	bool is_set : 1;      /* else the value is not known, or there is none */
	bool has_bytes : 1;   /* SHEET_AMOUNT and the like: bytes */
	bool has_ns : 1;      /* likewise: ns */
	uint64_t weight : 61; /* of an average or a percentage: what it was divided by;
				 SHEET_BACKTRACE: rows; SHEET_STEPS: how many; SHEET_GROUP: where
				 the group stands among the others */
	union {
		uint64_t number;
		const char *text; /* lives as long as the sheets */
		const uint64_t *steps;
		const struct trace_node *backtrace;
		const struct sheet_branch *branch;
	};
};

_Static_assert(sizeof(struct sheet_cell) == 16, "there may be a row of them for each place");

/* Rows that stand together. */
struct sheet_group {
	const char *name; /* NULL: the sheet has no groups */
	size_t first;	  /* row */
	size_t shown;	  /* rows from there on that are to be printed */
	size_t kept;	  /* rows from there on that the sheet has */
	size_t count;	  /* rows that there are, see sheets_bound() */
	/* By column, of those that can be summed up: all its rows, and those not shown. */
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
	struct sheets *sheets; /* that it is one of */
	ARRAY_OF(struct sheet_cell *) rows;
	size_t made;  /* rows, those that were left out and are used again behind the others */
	size_t limit; /* rows that there may be before some are left out */
	ARRAY_OF(struct sheet_group) left_out; /* sums of such rows */
	struct {			       /* after sheets_finish() */
		struct sheet_group *items;
		size_t count, capacity;
	} groups;
	struct pool_recent recent; /* texts of its cells */
	const char *note;	   /* a line about all of it, or NULL: see sheet_note() */
	bool is_unknown;	   /* nobody looked: that there are no rows means nothing */
};

/* The sheets of some reports, in order. */
struct sheets {
	struct pool pool; /* rows and texts */
	struct sheet_bound bound;
	struct sheet list[SHEET_ID_COUNT];
	unsigned count;
	const bool *wanted;    /* by id: which sheets are to be printed; NULL: all */
	struct sheets *others; /* has those that are not */
	struct error failure;  /* why they are not complete; number 0: they are */
};

struct sheet_facts sheet_facts(enum sheet_id id);

/* The place of the column with that name; -1: there is none. */
int sheet_column(const struct sheet_facts *facts, const char *name);

void sheets_init(struct sheets *sheets);
void sheets_free(struct sheets *sheets);

/* Returns 0, or -errno with why the sheets are not complete. */
int sheets_failure(const struct sheets *sheets, struct error *err);

/*
 * Before the first sheet: of each group top rows will be printed (not 0), in the order of by, as
 * sheets_finish() and sheets_fold() will be told. A sheet that is sorted then keeps no more than
 * they look at, and sums up the others.
 */
void sheets_bound(struct sheets *sheets, const char *by, size_t top);

/* A sheet that is to be filled; the same one if it was begun before. Never NULL. */
struct sheet *sheets_begin(struct sheets *sheets, enum sheet_id id);

/* A new row whose cells are not set; those before it are complete, and may be gone. */
struct sheet_cell *sheet_add(struct sheet *sheet);

void sheet_number(struct sheet_cell *cell, uint64_t number);
void sheet_amount(struct sheet_cell *cell, uint64_t number, bool has_bytes);
/* An average: total / count, if there is one. */
void sheet_average(struct sheet_cell *cell, uint64_t total, uint64_t count);
void sheet_percent(struct sheet_cell *cell, uint64_t part, uint64_t whole);
void sheet_backtrace(struct sheet_cell *cell, const struct trace_node *backtrace);

/* steps are copied; none: the cell is not set. */
void sheet_steps(struct sheet *sheet, struct sheet_cell *cell, const uint64_t *steps,
		 unsigned count);

/* text is copied; NULL or "": the cell is not set. */
void sheet_text(struct sheet *sheet, struct sheet_cell *cell, const char *text);

/* As sheet_text(), with printf's words. */
void sheet_format(struct sheet *sheet, struct sheet_cell *cell, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Sets the line about all of the sheet, with printf's words. */
void sheet_note(struct sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of its pool: lives as long as the sheets. */
void *sheet_alloc(struct sheet *sheet, size_t size);

/* A group's name, and its place among the groups. */
void sheet_group(struct sheet *sheet, struct sheet_cell *cell, const char *name, uint32_t rank);

/*
 * Sorts all sheets, by the column named by where a sheet has it (NULL: by its own), puts the rows
 * of each group together and sums them up; of each at most top are to be printed (0: all). Returns
 * 0 or -EINVAL if no sheet has such a column.
 */
int sheets_finish(struct sheets *sheets, const char *by, size_t top, struct error *err);

/* Adds a cell of a column of that kind to a sum. Errors of different blocks add up in squares. */
void sheet_add_to(enum sheet_kind kind, struct sheet_cell *sum, const struct sheet_cell *cell);

/* How good an estimate is, by its variance; not set where what was counted is exact. */
void sheet_error(struct sheet_cell *cell, double variance, bool has_bytes);

/* The same of a count of objects. */
void sheet_count_error(struct sheet_cell *cell, uint64_t count, double variance);

/*
 * What a row will read as where its numbers are left away, or NULL if it is no row to be folded.
 * The text is needed until the next call.
 */
typedef const char *sheet_reading(void *user, const struct sheet *sheet,
				  const struct sheet_cell *row);

/*
 * After sheets_finish(), for readers who see no addresses: rows of a group that read the same
 * become one, with sums, the longest time and the average of all; its weight says how many they
 * were. Of a group so many are looked at that some times top are left (0: all). Sheets some of
 * whose columns cannot be put together so stay as they are.
 */
int sheets_fold(struct sheets *sheets, const char *by, size_t top, sheet_reading *reading,
		void *user, struct error *err);

#endif
