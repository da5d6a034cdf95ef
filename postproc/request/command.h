/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_COMMAND_H
#define REQUEST_COMMAND_H

/* The commands of holdtrace that print a report, which is started by them with their words. */

#include "request.h"

/*
 * Takes the names of a command, up to a NULL, into options, which its other words have filled: what
 * is asked, and of which traces. Returns 0, -EINVAL (wrong usage), or what the run of a process
 * that was named answers.
 */
int command_take(const char *command, struct options *options, char **names, struct error *err);

#endif
