/* SPDX-License-Identifier: MIT */
#ifndef LIVE_ACT_H
#define LIVE_ACT_H

/* What `holdtrace watch` does when a limit breaks: its --then. */

#include "base/options.h"
#include "control/control.h"

struct step {
	const struct action *action;
	const char *text, *with;
};

struct act {
	int pid; /* of the run, as it was given */
	struct ctl_run *run;
	const char *analyst; /* path of the post-processor */
	struct step *steps;
	size_t count;
};

/* Reads the texts of --then. Returns 0 or a negative errno; act_free() in any case. */
int act_plan(struct act *act, int pid, const char *analyst, const option_list *texts,
	     struct error *err);

/* Takes every step, whatever becomes of one. Returns a status. */
int act_on(const struct act *act, uint32_t pid, uint32_t stream);

void act_free(struct act *act);

#endif
