/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_COMMAND_H
#define REQUEST_COMMAND_H

/*
 * The commands of holdtrace that print a report. For these, holdtrace starts this program and
 * passes their arguments on.
 */

#include "request.h"

/*
 * Sets in `options` which reports the command prints, and of which traces. names: the arguments
 * that are not options, followed by NULL; the other arguments are in `options` already. Returns 0,
 * -EINVAL (wrong usage), or the error of a request to a process that was named.
 */
int command_take(const char *command, struct options *options, char **names, struct error *err);

#endif
