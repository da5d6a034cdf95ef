/* SPDX-License-Identifier: MIT */
#ifndef REPORTING_H
#define REPORTING_H

/*
 * Reports on a run: reads the traces of its processes once each, passes their events to all
 * requested reports, and prints the reports as text, JSON or CSV. The entry point of --report=WHAT.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/out.h"
#include "postproc/gate/baseline.h"
#include "choice.h"
#include "postproc/engine/engine.h"
#include "postproc/print/tables.h"

struct reporting_options {
	struct engine_options reading;
	struct choice choice;
	struct report_options report;
	struct tables_style style;
	struct naming_files files;
	const char *const *base; /* traces of the run to compare with */
	size_t base_count;
	const struct limits *limits; /* for the run to keep, or NULL */
	/* the processes are still running, and the report is about their state now */
	bool is_so_far;
	/* call sites that do not count against the limits, or NULL */
	const struct baseline *baseline;
	struct baseline *learned; /* gets the run's numbers of everything limited, or NULL */
	bool is_newest;		  /* the files are those that a command without a file would read */
	bool is_strict;		  /* any damage counts, so everything is read */
};

/* What the exit status depends on. */
struct reporting_result {
	struct engine_result reading;
	size_t broken, unknown;	      /* numbers of limits */
	uint64_t damaged, incomplete; /* numbers of traces; see struct report_gaps */
};

/*
 * Prints the reports; out NULL: checks the limits and prints nothing. Returns 0, -EINTR if reading
 * was stopped (what was read is printed), -EINVAL for an unknown column, or another negative errno,
 * after which nothing was printed.
 */
int reporting(const char *const *paths, size_t count, const struct reporting_options *options,
	      struct out *out, struct reporting_result *result, struct error *err);

#endif
