/* SPDX-License-Identifier: MIT */
#ifndef REPORTING_H
#define REPORTING_H

/*
 * Reports of a run: the traces of its processes, each read once, folded by all reports that were
 * asked for, and printed as text, JSON or CSV. --report=WHAT comes here.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/out.h"
#include "postproc/baseline.h"
#include "postproc/engine.h"
#include "postproc/limits.h"
#include "postproc/views/report.h"
#include "postproc/writers/sheets.h"

#define REPORTING_MAX 32 /* reports at once */

struct reporting_options {
	struct engine_options reading;
	const char *reports; /* WHAT[,WHAT] */
	struct report_options report;
	struct sheets_style style;
	struct naming_files files;
	const char *const *base; /* traces of the run that this one is compared with */
	size_t base_count;
	const struct limits *limits;	 /* that the run must keep, or NULL */
	const struct baseline *baseline; /* what does not count against them, or NULL */
	struct baseline *learned;	 /* takes what the run has of what is limited, or NULL */
	bool is_newest; /* the files are those that a command without a file reads */
};

/* Returns 0, or -EINVAL if there is no such report. */
int reporting_check(const struct reporting_options *options, struct error *err);

/* True if one compares the run with another one. */
bool reporting_wants_base(const struct reporting_options *options);

/* True if they are about the files in directories, which are the paths then. */
bool reporting_wants_directories(const struct reporting_options *options);

/* What is to be said by a status. */
struct reporting_result {
	struct engine_result reading;
	size_t broken, unknown; /* limits */
};

/*
 * Prints the reports; out NULL: judges the limits and prints nothing. Returns 0, -EINTR if it was
 * stopped (what was read is printed), -EINVAL for a column that there is not, or another negative
 * errno: then nothing could be read, or printed.
 */
int reporting(const char *const *paths, size_t count, const struct reporting_options *options,
	      struct out *out, struct reporting_result *result, struct error *err);

#endif
