/* SPDX-License-Identifier: MIT */
#ifndef COMMAND_H
#define COMMAND_H

/* The sub-commands, as main() calls them. Each returns the exit status of holdtrace. */

#include <stdbool.h>

#include <stdint.h>

#include "base/error.h"

/* As env(1) and timeout(1): our own failure, a program that cannot be run, one that is not there.
 */
enum {
	STATUS_USAGE = 2,
	STATUS_UNKNOWN = 3, /* limits cannot be judged */
	STATUS_OWN_FAILURE = 125,
	STATUS_NOT_RUNNABLE = 126,
	STATUS_NOT_FOUND = 127,
};

#define COMMAND(name, function, arguments, text) \
	int function(int argc, char **argv, struct error *err);
#define RENAMED(name, instead)
#include "launch/commands.def"
#undef COMMAND
#undef RENAMED

/* Detaches from a process, as `holdtrace ctl PID detach`. */
int detach(const char *pid, struct error *err);

/*
 * Ends as the post-processor does that prints what a report is and its options, or of "list" all
 * reports; help: "--help" or "--help=all". Returns if it cannot.
 */
int report_print_help(const char *what, const char *help, struct error *err);

/* One line on standard error, begun with the program's name; main.c alone writes it. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
