/* SPDX-License-Identifier: MIT */
#ifndef PLAN_H
#define PLAN_H

/* What the options mean together, for whatever is no report (report_plan.h). */

#include "postproc/request/request.h"
#include "postproc/request/output.h"
#include "postproc/engine/pass.h"
#include "postproc/engine/select.h"

/* tally: counts what is selected from; the caller's. */
void plan_selection(struct select_options *select, struct select_tally *tally,
		    const struct options *options);

/* The writer of --format. Returns 0 or -EINVAL: there is none, or not with the other options. */
int plan_writer(const struct writer **writer, const struct options *options, struct error *err);

/*
 * Fills pass, of which writer is known, but for how traces are opened; output is what it writes to,
 * tally as above. Returns 0 or -EINVAL.
 */
int plan_pass(struct pass_options *pass, struct output *output, struct select_tally *tally,
	      const struct options *options, struct error *err);

/* Looks for mistakes in the selection before anything is read. Returns what select_create() does.
 */
int plan_check_selection(const struct select_options *options, struct error *err);

/* The same of where the output goes. Returns 0, -ENOTDIR or what stat(2) said. */
int plan_check_directory(const struct output *output, const struct writer *writer,
			 struct error *err);

#endif
