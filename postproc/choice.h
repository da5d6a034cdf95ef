/* SPDX-License-Identifier: MIT */
#ifndef CHOICE_H
#define CHOICE_H

/* Which reports are made: those that were asked for, and others that limits or a page need. */

#include "base/error.h"
#include "formats/writer.h"
#include "account/limits.h"
#include "postproc/views/report.h"

#define CHOICE_MAX 32 /* reports at once */

struct choice {
	const struct report_row *rows[CHOICE_MAX];
	unsigned count;
	unsigned shown; /* the first of them; limits alone need the others */
	/* any of them, see struct report */
	bool wants_ledger, wants_summary, wants_directories, wants_base, takes_by;
	bool skips_calls; /* all of them do without */
};

/*
 * words: WHAT[,WHAT]. limits: what the run must keep, or NULL. format: of the tables. Returns 0 or
 * -EINVAL: there is no such report, or not with the others.
 */
int choice_make(struct choice *choice, const char *words, const struct limits *limits,
		const struct writer *format, struct error *err);

#endif
