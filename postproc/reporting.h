/* SPDX-License-Identifier: MIT */
#ifndef REPORTING_H
#define REPORTING_H

/*
 * Makes the reports on a run (--report=WHAT): reads the trace of each process once, passes the
 * events to all requested reports, and prints the reports in the format of the options.
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
	const char *const *base; /* traces of the older run to compare with */
	size_t base_count;
	const struct limits *limits; /* limits to check; NULL: none */
	/* the processes may still be running; the reports are about their present state */
	bool is_so_far;
	/* numbers of an older run, to subtract before limits are checked; NULL: none */
	const struct baseline *baseline;
	/* receives the numbers of this run, for a later baseline; NULL: not wanted */
	struct baseline *learned;
	/* receives the verdicts on the limits, for style.verdicts; NULL: not wanted */
	struct verdicts *verdicts;
	bool is_newest; /* whether a command without a file name would read the same files */
	bool is_strict; /* --strict: read all events, so that all damage is found */
};

/* The facts that determine the exit status. */
struct reporting_result {
	struct engine_result reading;
	/* how many limits are broken, and how many cannot be checked */
	size_t broken, unknown;
	uint64_t damaged, incomplete; /* numbers of traces, as in struct report_gaps */
};

/*
 * Prints the reports. If `out` is NULL, only checks the limits. Returns 0, -EINTR if reading was
 * stopped (the events read so far are reported), -EINVAL if --by names an unknown column, or
 * another negative errno.
 */
int reporting(const char *const *paths, size_t count, const struct reporting_options *options,
	      struct out *out, struct reporting_result *result, struct error *err);

#endif
