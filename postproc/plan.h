/* SPDX-License-Identifier: MIT */
#ifndef PLAN_H
#define PLAN_H

/* What the options mean together, except for reports (report_plan.h). */

#include "postproc/request/request.h"
#include "postproc/request/output.h"
#include "postproc/engine/pass.h"
#include "postproc/engine/select.h"

/* tally: counts the calls; belongs to the caller. */
void plan_selection(struct select_options *select, struct select_tally *tally,
		    const struct options *options);

/*
 * Finds the writer of --format. Returns 0 or -EINVAL: there is none, or it cannot be combined with
 * the other options.
 */
int plan_writer(const struct writer **writer, const struct options *options, struct error *err);

/*
 * Fills pass, whose writer is set, except how traces are opened. output and tally belong to the
 * caller. Returns 0 or -EINVAL.
 */
int plan_pass(struct pass_options *pass, struct output *output, struct select_tally *tally,
	      const struct options *options, struct error *err);

/* Checks the selection before anything is read. Returns as select_create(). */
int plan_check_selection(const struct select_options *options, struct error *err);

/* Checks the directory of the output. Returns 0, -ENOTDIR or the error of stat(2). */
int plan_check_directory(const struct output *output, const struct writer *writer,
			 struct error *err);

#endif
