/* SPDX-License-Identifier: MIT */
#ifndef CHOICE_H
#define CHOICE_H

/*
 * Chooses the reports on a run, and the folds (functions that fill tables): those that the user
 * requested, and those that limits or an HTML page need.
 */

#include "base/error.h"
#include "formats/writer.h"
#include "account/limits.h"
#include "postproc/report/report.h"

#define CHOICE_MAX 32 /* maximum number of reports, and of folds */

struct choice {
	const struct report_row *rows[CHOICE_MAX]; /* the requested reports */
	unsigned row_count;
	const struct report *folds[CHOICE_MAX];
	unsigned count;
	/* the tables of the first `shown` folds are printed; only limits need the other folds */
	unsigned shown;
	bool tables[TABLE_ID_COUNT]; /* indexed by table_id: whether the table is printed */
	bool is_of_tables;	     /* the tables were selected by --table */
	/* whether at least one fold sets the member of the same name in struct report */
	bool wants_ledger, wants_summary, wants_directories, wants_base, takes_by;
	bool skips_calls; /* whether all folds set skips_calls */
};

struct choice_request {
	const char *words;  /* names of reports: WHAT[,WHAT] */
	const char *tables; /* names of tables: NAME[,NAME]; NULL: all tables */
	/* whether `tables` comes from --table, not from the command `info` */
	bool are_tables_named;
	const struct limits *limits; /* limits to check; NULL: none */
	const struct writer *format;
	bool has_object;      /* --object is given */
	bool are_directories; /* all inputs are directories */
};

/*
 * Fills `choice`. Returns 0, or -EINVAL if a report or table does not exist or cannot be combined
 * with the others.
 */
int choice_make(struct choice *choice, const struct choice_request *request, struct error *err);

#endif
