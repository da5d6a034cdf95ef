/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_COMMAND_H
#define REQUEST_COMMAND_H

/* The commands of holdtrace that print a report: holdtrace starts this program with their words. */

#include "request.h"

/*
 * Takes the names of a command, up to a NULL, into options, which has its other words already:
 * which reports, of which traces. Returns 0, -EINVAL (wrong usage), or the error from the run of a
 * named process.
 */
int command_take(const char *command, struct options *options, char **names, struct error *err);

#endif
