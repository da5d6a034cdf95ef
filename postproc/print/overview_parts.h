/* SPDX-License-Identifier: MIT */
#ifndef PRINT_OVERVIEW_PARTS_H
#define PRINT_OVERVIEW_PARTS_H

/* Parts of the overview (the screen at a run's end) and their state. Only for overview*.c. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "postproc/findings/findings.h"
#include "postproc/findings/images.h"
#include "postproc/findings/live.h"
#include "postproc/totals/summary.h"
#include "postproc/report/suppress.h"
#include "base/human.h"
#include "naming/naming.h"
#include "screen.h"

#define OVERVIEW_COLUMN 14 /* column where the text of most rows begins, after their first word */

/* The maximum of overview.tight. */
#define OVERVIEW_TIGHTEST 2

struct overview {
	const struct summary *summary;
	struct naming *naming;
	struct screen screen;
	/* how often the length of the lists was halved; 0: the lists have their full length */
	unsigned tight;
	bool has_colour;
	/* the traces are those of the newest run, which commands read by default */
	bool is_newest;
	struct suppress suppress; /* the suppressions of the report `leaks` */
	bool has_no_leaks;	  /* all live objects are suppressed */
	/* number of the process to which the first shown call site belongs */
	uint32_t first;
	struct findings_leaks leaks;
	size_t rows;   /* number of call sites that fit on a screen of the usual width */
	bool has_rows; /* `rows` is known: use this number on a screen of another width, too */
};

/* Format numbers. The texts are valid only until the end of the enclosing block. */
#define COUNT(number)  human_count(&(struct human){ { 0 } }, number)
#define BYTES(number)  human_bytes(&(struct human){ { 0 } }, number)
#define EXACT(number)  human_exact_bytes(&(struct human){ { 0 } }, number)
#define DURATION(ns)   human_time(&(struct human){ { 0 } }, ns)
#define PLURAL(number) ((number) == 1 ? "" : "s")

/* Returns the maximum number of rows of a list. most: the maximum if `tight` is 0. */
static inline size_t overview_limit(const struct overview *overview, size_t most)
{
	return most >> overview->tight ? most >> overview->tight : 1;
}

/* ---- overview.c ---- */

/* Returns the heading of live objects: "live at exit" or "live at detach". */
const char *overview_held(const struct overview *overview);

/* Returns the name of a process, which is the last component of its path. */
const char *overview_name(const struct summary_process *process);

/*
 * Adds the frames of a call site, then the text `behind`. sites: the number of backtraces with this
 * call site. If `sites` is 1, also adds callers, as many as fit into `height` lines of the screen.
 */
void overview_frames(struct overview *overview, struct line *line, size_t indent, size_t height,
		     const struct trace_node *backtrace, uint64_t sites, const char *behind);

/* ---- overview_live.c ---- */

/* Prints a row for each class: acquired, peak and live objects. */
void overview_table(struct overview *overview);

/* Prints the call sites with live objects: as many as fit into `room` lines, at least one. */
void overview_sites(struct overview *overview, size_t room);

/* ---- overview_waits.c ---- */

/*
 * overview_waits() prints how long calls waited, overview_blocked() lists the calls that still
 * wait, and overview_unusual() prints findings that the sums do not show.
 */
void overview_waits(struct overview *overview);
void overview_blocked(struct overview *overview);
void overview_unusual(struct overview *overview);

#endif
