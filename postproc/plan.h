/* SPDX-License-Identifier: MIT */
#ifndef PLAN_H
#define PLAN_H

/*
 * Turns the options into a plan for printing streams, and checks whether the options fit together.
 * report_plan.h does the same for reports.
 */

#include "postproc/request/request.h"
#include "postproc/request/output.h"
#include "postproc/engine/pass.h"
#include "postproc/engine/select.h"

/*
 * Fills `select` from the options. tally: where the selection counts calls; it belongs to the
 * caller.
 */
void plan_selection(struct select_options *select, struct select_tally *tally,
		    const struct options *options);

/*
 * Finds the writer of --format. Returns 0, or -EINVAL if the format does not exist or cannot be
 * combined with the other options.
 */
int plan_writer(const struct writer **writer, const struct options *options, struct error *err);

/*
 * Fills `pass`, except for its writer, which the caller has set, and for reading.trace, which
 * console_plan() sets. `output` and `tally` belong to the caller. Returns 0 or -EINVAL.
 */
int plan_pass(struct pass_options *pass, struct output *output, struct select_tally *tally,
	      const struct options *options, struct error *err);

/* Checks the selection before a trace is read. Returns the same values as select_create(). */
int plan_check_selection(const struct select_options *options, struct error *err);

/* Checks that the directory of -o exists. Returns 0, -ENOTDIR or the error of stat(2). */
int plan_check_directory(const struct output *output, const struct writer *writer,
			 struct error *err);

#endif
