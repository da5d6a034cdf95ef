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
	/* what they are made of */
	struct newest newest, old;
	const struct newest_trace *guessed; /* no file was named, and others are here; or NULL */
	const char **found, **old_found;
	char *before, *behind; /* the next command */
};

/*
 * Fills the plan, of which it is known how traces are opened. screen: the format whose report it is
 * where options have none. tally: counts what is selected from; the caller's. Returns 0, -EINVAL
 * (wrong usage), or what looking for traces returned.
 */
int report_plan(struct report_plan *plan, const struct writer *screen, struct select_tally *tally,
		const struct options *options, struct error *err);

void report_plan_free(struct report_plan *plan);

#endif
