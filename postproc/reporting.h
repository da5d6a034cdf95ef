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
#include "postproc/gate/baseline.h"
#include "choice.h"
#include "postproc/engine/engine.h"
#include "postproc/print/sheets.h"

struct reporting_options {
	struct engine_options reading;
	struct choice choice;
	struct report_options report;
	struct sheets_style style;
	struct naming_files files;
	const char *const *base; /* traces of the run that this one is compared with */
	size_t base_count;
	const struct limits *limits;	 /* that the run must keep, or NULL */
	bool is_so_far;			 /* they are about what runs as it is by now */
	const struct baseline *baseline; /* what does not count against them, or NULL */
	struct baseline *learned;	 /* takes what the run has of what is limited, or NULL */
	bool is_newest; /* the files are those that a command without a file reads */
	bool is_strict; /* damage counts wherever it is: all is read */
};

/* What is to be said by a status. */
struct reporting_result {
	struct engine_result reading;
	size_t broken, unknown;	      /* limits */
	uint64_t damaged, incomplete; /* traces; see struct report_gaps */
};

/*
 * Prints the reports; out NULL: judges the limits and prints nothing. Returns 0, -EINTR if it was
 * stopped (what was read is printed), -EINVAL for a column that there is not, or another negative
 * errno: then nothing could be read, or printed.
 */
int reporting(const char *const *paths, size_t count, const struct reporting_options *options,
	      struct out *out, struct reporting_result *result, struct error *err);

#endif
