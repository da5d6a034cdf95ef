/* SPDX-License-Identifier: MIT */
#ifndef REPORT_PARTS_H
#define REPORT_PARTS_H

/*
 * The parts that the report is put together from, and what they share. Nobody but report*.c
 * includes this.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "postproc/views/summary.h"
#include "postproc/writers/human.h"
#include "postproc/writers/names.h"
#include "postproc/writers/screen.h"

#define REPORT_COLUMN 14 /* where most rows go on behind their first word */

/* Steps in which everything is made shorter: the last one. */
#define REPORT_TIGHTEST 2

struct report {
	const struct summary *summary;
	struct names *names;
	struct screen screen;
	unsigned tight; /* 0: everything; each step halves the lists */
	uint32_t first; /* number of the process whose site is shown first */
};

/* A number that is printed at once. */
#define COUNT(number)  human_count(&(struct human){ { 0 } }, number)
#define BYTES(number)  human_bytes(&(struct human){ { 0 } }, number)
#define EXACT(number)  human_exact_bytes(&(struct human){ { 0 } }, number)
#define DURATION(ns)   human_time(&(struct human){ { 0 } }, ns)
#define MOMENT(ns)     human_moment(&(struct human){ { 0 } }, ns)
#define PLURAL(number) ((number) == 1 ? "" : "s")

/* How many of a list there is room for. */
static inline size_t report_limit(const struct report *report, size_t most)
{
	return most >> report->tight ? most >> report->tight : 1;
}

/* report.c */

/* The image that the run's first process ended as. */
const struct summary_process *report_last_image(const struct summary *summary);

/* What a process is called: the last part of its path. */
const char *report_name(const struct summary_process *process);

/*
 * Adds frames, and the text behind them, while the line stays within so many lines of the screen;
 * but one frame at least.
 */
void report_frames(struct report *report, struct line *line, size_t indent, size_t height,
		   const struct atlas_backtrace *backtrace, const char *behind);

/* report_table.c: what was used, a row for each class */
void report_table(struct report *report);

/* report_waits.c: how long calls waited, and those that wait still */
void report_waits(struct report *report);
void report_blocked(struct report *report);

/* report_sites.c: as many places of what is held as fit into so many lines, but one at least */
void report_sites(struct report *report, size_t room);

/* report_processes.c: how one ended, those that matter, and what is missing of them */
void report_end(const struct summary *summary, struct line *line,
		const struct summary_process *process);
bool report_is_complete(const struct summary_process *process);
void report_processes(struct report *report);
void report_untraced(struct report *report);
void report_cut(struct report *report);

#endif
