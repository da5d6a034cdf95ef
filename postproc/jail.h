/* SPDX-License-Identifier: MIT */
#ifndef JAIL_H
#define JAIL_H

/*
 * Drops rights before another user's trace is read: a trace that exploits a bug in the reader could
 * then write only to the requested output and to the directory for temporary files.
 */

#include <limits.h>
#include <stdbool.h>

#include "base/sandbox.h"
#include "postproc/request/request.h"
#include "postproc/engine/pass.h"

struct jail {
	struct sandbox_options options;
	char report[PATH_MAX]; /* directory of the report's file, if the report goes to a file */
	const char *made;      /* directory to create before the jail is entered, or NULL */
	bool is_verbose, is_entered;
};

/* Plans which rights remain. `jail` keeps pointers into `options`. */
void jail_plan(struct jail *jail, const struct options *options, const struct writer *writer);

/*
 * Whether the jail must be entered before the file is read: it was not entered yet, and the file
 * belongs to another user or its owner is unknown.
 */
bool jail_is_needed(const struct jail *jail, int fd);

/*
 * Enters the jail for the rest of the process's life. With --verbose, calls say() for each
 * restriction.
 */
void jail_enter(struct jail *jail, void (*say)(void *context, const char *line), void *context);

#endif
