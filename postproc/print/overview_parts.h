/* SPDX-License-Identifier: MIT */
#ifndef PRINT_OVERVIEW_PARTS_H
#define PRINT_OVERVIEW_PARTS_H

/*
 * The parts that the overview is put together from, and what they share. Nobody but overview*.c
 * includes this.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "postproc/findings/findings.h"
#include "postproc/findings/images.h"
#include "postproc/totals/summary.h"
#include "postproc/report/suppress.h"
#include "base/human.h"
#include "naming/naming.h"
#include "screen.h"

#define OVERVIEW_COLUMN 14 /* where most rows go on behind their first word */

/* Steps in which everything is made shorter: the last one. */
#define OVERVIEW_TIGHTEST 2

struct overview {
	const struct summary *summary;
	struct naming *naming;
	struct screen screen;
	unsigned tight; /* 0: everything; each step halves the lists */
	bool has_colour;
	bool is_newest;		  /* the traces are those that a command without a file reads */
	struct suppress suppress; /* what the report leaks leaves out */
	bool has_no_leaks;	  /* it leaves out all that is held */
	uint32_t first;		  /* number of the process whose site is shown first */
	struct findings_leaks leaks;
	bool has_rows; /* of sites, so many as were shown at the usual width */
	size_t rows;
};

/* A number that is printed at once. */
#define COUNT(number)  human_count(&(struct human){ { 0 } }, number)
#define BYTES(number)  human_bytes(&(struct human){ { 0 } }, number)
#define EXACT(number)  human_exact_bytes(&(struct human){ { 0 } }, number)
#define DURATION(ns)   human_time(&(struct human){ { 0 } }, ns)
#define PLURAL(number) ((number) == 1 ? "" : "s")

/* How many of a list there is room for. */
static inline size_t overview_limit(const struct overview *overview, size_t most)
{
	return most >> overview->tight ? most >> overview->tight : 1;
}

/* overview.c */

/* "still held at exit", or at what ended the recording. */
const char *overview_held(const struct overview *overview);

/* What a process is called: the last part of its path. */
const char *overview_name(const struct summary_process *process);

/*
 * Adds a call site, and the text behind it. sites: how many backtraces have it; where that is one,
 * its callers follow, while the line stays within so many lines of the screen.
 */
void overview_frames(struct overview *overview, struct line *line, size_t indent, size_t height,
		     const struct trace_node *backtrace, uint64_t sites, const char *behind);

/* overview_table.c: what was used, a row for each class */
void overview_table(struct overview *overview);

/* overview_waits.c: how long calls waited, and those that wait still */
void overview_waits(struct overview *overview);
void overview_blocked(struct overview *overview);

/* overview_unusual.c: what no sum shows */
void overview_unusual(struct overview *overview);

/* overview_sites.c: as many places of what is held as fit into so many lines, but one at least */
void overview_sites(struct overview *overview, size_t room);

/* overview_left_out.c: how much of what is held the report leaks leaves out */
void overview_left_out(struct overview *overview);
bool overview_is_left_out(struct overview *overview, const struct summary_site *site);

/* overview_processes.c: how one ended, those that matter, and what is missing of them; after_ns:
 * when, 0 if that is not to be told */
void overview_end(const struct summary *summary, struct line *line,
		  const struct summary_process *process, uint64_t after_ns);
bool overview_is_complete(const struct summary_process *process);
void overview_processes(struct overview *overview);
void overview_untraced(struct overview *overview);
void overview_spawned(struct overview *overview);
void overview_attached(struct overview *overview);
void overview_kept(struct overview *overview);
void overview_unchosen(struct overview *overview);
void overview_cut(struct overview *overview);

/* overview_doubts.c: what was not recorded at all, and how good the backtraces are */
void overview_doubts(struct overview *overview);

#endif
