/* SPDX-License-Identifier: MIT */
#ifndef JAIL_H
#define JAIL_H

/*
 * The rights that the program gives up before it reads another user's trace: if such a trace took
 * the reader over, it could write only to the requested output.
 */

#include <limits.h>
#include <stdbool.h>

#include "base/sandbox.h"
#include "postproc/request/request.h"
#include "postproc/engine/pass.h"

struct jail {
	struct sandbox_options options;
	char report[PATH_MAX]; /* directory of the report's file */
	const char *made;      /* directory to be made before, or NULL */
	bool is_verbose, is_entered;
};

/* Plans which rights remain. The pointers live as long as the options. */
void jail_plan(struct jail *jail, const struct options *options, const struct writer *writer);

/* Whether the file is another user's and the jail was not entered yet. */
bool jail_is_needed(const struct jail *jail, int fd);

/* Enters the jail, for the rest of the process. With --verbose, says what it restricts. */
void jail_enter(struct jail *jail, void (*say)(void *context, const char *line), void *context);

#endif
