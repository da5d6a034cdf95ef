/* SPDX-License-Identifier: MIT */
#ifndef LIVE_ACT_H
#define LIVE_ACT_H

/* The actions of `holdtrace watch` when a limit is broken (--then). */

#include "base/options.h"
#include "control/control.h"

struct step {
	const struct action *action;
	const char *text, *with;
};

struct act {
	int pid; /* process id of the command line */
	struct ctl_run *run;
	const char *analyst; /* path of the post-processor */
	struct step *steps;
	size_t count;
};

/* Parses the texts of --then. Returns 0 or a negative errno; call act_free() in any case. */
int act_plan(struct act *act, int pid, const char *analyst, const option_list *texts,
	     struct error *err);

/*
 * Performs all actions in order, even if one fails. pid, stream: the process that broke the limit.
 * Returns an exit status.
 */
int act_on(const struct act *act, uint32_t pid, uint32_t stream);

void act_free(struct act *act);

#endif
