/* SPDX-License-Identifier: MIT */
#ifndef PRINT_OVERVIEW_H
#define PRINT_OVERVIEW_H

/* The screen that a run ends with, from the numbers of the summary. */

#include "base/error.h"
#include "base/out.h"
#include "postproc/totals/summary.h"
#include "naming/naming.h"

#define OVERVIEW_LINES_MAX 40

struct report_options;

struct overview_style {
	size_t width; /* of the terminal */
	bool has_colour;
	bool is_newest; /* the traces are those that a command without a file reads */
};

/*
 * Looks up the names of what is shown, and prints. What naming showed before does not count.
 * options: what leaks leaves out. Returns 0 or a negative errno, as suppress_fill().
 */
int overview_print(const struct summary *summary, struct naming *naming,
		   const struct report_options *options, const struct overview_style *style,
		   struct out *out, struct error *err);

#endif
