/* SPDX-License-Identifier: MIT */
#ifndef PRINT_OVERVIEW_H
#define PRINT_OVERVIEW_H

/* Prints the screen: the results that holdtrace shows at the end of a run, from its summary. */

#include "base/error.h"
#include "base/out.h"
#include "postproc/totals/summary.h"
#include "naming/naming.h"

#define OVERVIEW_LINES_MAX 40

struct report_options;

struct overview_style {
	size_t width; /* columns of the terminal */
	bool has_colour;
	bool is_newest; /* the traces are the newest run, which commands read by default */
};

/*
 * Looks up the names of the call sites that are shown, and prints the screen. Resets the counts of
 * shown and unnamed frames (naming_restart()). options: the options of the report `leaks`, which
 * include its suppressions. Returns 0 or a negative errno of suppress_fill().
 */
int overview_print(const struct summary *summary, struct naming *naming,
		   const struct report_options *options, const struct overview_style *style,
		   struct out *out, struct error *err);

#endif
