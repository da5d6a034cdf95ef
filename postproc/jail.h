/* SPDX-License-Identifier: MIT */
#ifndef JAIL_H
#define JAIL_H

/*
 * What we give up before we read a trace of another user: a reader that such a trace took over
 * could write nowhere but where output was asked for.
 */

#include <limits.h>
#include <stdbool.h>

#include "base/sandbox.h"
#include "postproc/request/request.h"
#include "postproc/engine/pass.h"

struct jail {
	struct sandbox_wish wish;
	char report[PATH_MAX]; /* directory of a report's file */
	const char *made;      /* directory that is made before, or NULL */
	bool is_verbose, is_entered;
};

/* Plans what is needed nevertheless. The jail lives as long as what is read. */
void jail_plan(struct jail *jail, const struct options *options, const struct writer *writer);

/* Whether the file is another user's and we are not in yet. */
bool jail_is_needed(const struct jail *jail, int fd);

/* Goes in, for ever. With --verbose, says what holds. */
void jail_enter(struct jail *jail, void (*say)(void *context, const char *line), void *context);

#endif
