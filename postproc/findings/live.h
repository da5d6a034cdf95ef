/* SPDX-License-Identifier: MIT */
#ifndef FINDINGS_LIVE_H
#define FINDINGS_LIVE_H

/* The list of the call sites of objects live at exit, for the screen at the end of a run. */

#include "base/hash_table.h"
#include "findings.h"
#include "postproc/report/suppress.h"

/* A row of the list: all backtraces of a class and a process that have the same call site. */
struct live_row {
	const struct summary_site *site; /* the largest of these backtraces */
	uint64_t count, bytes, sites;
	bool has_more_examples;
	bool is_foreign; /* the process is a system program that the run started */
	char *call_site;
};

struct live {
	/* sorted: system programs last, then by class, then by size (the largest first) */
	struct live_row *items;
	size_t count;
	uint64_t sites;		 /* number of backtraces in all rows */
	struct hash_table table; /* the rows; key: class, process and call site */
	struct findings_leaks leaks;
};

/*
 * Makes the rows of all backtraces that are not suppressed. The summary must have been made with
 * summary_watch().
 */
void live_collect(struct live *live, const struct summary *summary, struct naming *naming,
		  struct suppress *suppress);
void live_free(struct live *live);

#endif
