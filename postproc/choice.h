/* SPDX-License-Identifier: MIT */
#ifndef CHOICE_H
#define CHOICE_H

/* Which reports are made: those that the user asked for, and those that limits or a page need. */

#include "base/error.h"
#include "formats/writer.h"
#include "account/limits.h"
#include "postproc/report/report.h"

#define CHOICE_MAX 32 /* reports, or folds, at once */

struct choice {
	const struct report_row *rows[CHOICE_MAX]; /* the requested reports */
	unsigned row_count;
	const struct report *folds[CHOICE_MAX];
	unsigned count;
	/* number of folds, at the beginning, that are shown; the others serve limits only */
	unsigned shown;
	bool tables[TABLE_ID_COUNT]; /* to be printed */
	bool is_of_tables;	     /* --table named them */
	/* any of the folds does, see struct report */
	bool wants_ledger, wants_summary, wants_directories, wants_base, takes_by;
	bool skips_calls; /* all of the folds do */
};

struct choice_request {
	const char *words;	     /* WHAT[,WHAT] */
	const char *tables;	     /* NAME[,NAME], or NULL: all */
	bool are_tables_named;	     /* by --table, not by the command (info) */
	const struct limits *limits; /* for the run to keep, or NULL */
	const struct writer *format;
	bool has_object;      /* --object */
	bool are_directories; /* the inputs are directories */
};

/*
 * Returns 0 or -EINVAL: there is no such report or table, or it cannot be combined with the others.
 */
int choice_make(struct choice *choice, const struct choice_request *request, struct error *err);

#endif
