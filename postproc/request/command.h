/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_COMMAND_H
#define REQUEST_COMMAND_H

/*
 * The commands of holdtrace that print a report. For these, holdtrace starts this program and
 * passes their arguments on.
 */

#include "request.h"

/*
 * Adds to options which reports of which traces a command prints. names: the arguments that are not
 * options, up to a NULL; options already has the others. Returns 0, -EINVAL (wrong usage), or the
 * error of a request to a process that was named.
 */
int command_take(const char *command, struct options *options, char **names, struct error *err);

#endif
