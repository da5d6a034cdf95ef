/* SPDX-License-Identifier: MIT */
#ifndef REPORT_PLAN_H
#define REPORT_PLAN_H

/* What the options mean for reports. */

#include "formats/writer.h"
#include "postproc/request/newest.h"
#include "postproc/request/request.h"
#include "reporting.h"

struct report_plan {
	struct reporting_options how;
	struct limits limits;
	struct baseline baseline, learned;
	const char *const *paths; /* of the traces */
	size_t count;
	/* owners of these paths */
	struct newest newest, old;
	/* no file was named, and the directory has files of several runs; or NULL */
	const struct newest_trace *guessed;
	const char **found, **old_found;
	char *before, *behind; /* parts of the suggested next command */
};

/*
 * Fills the plan; its how.reading says how traces are opened. screen: the format to use if the
 * options have none. tally: counts the calls; belongs to the caller. Returns 0, -EINVAL (wrong
 * usage), or the error of looking for traces.
 */
int report_plan(struct report_plan *plan, const struct writer *screen, struct select_tally *tally,
		const struct options *options, struct error *err);

void report_plan_free(struct report_plan *plan);

#endif
