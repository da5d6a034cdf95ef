/* SPDX-License-Identifier: MIT */
#ifndef COMMAND_H
#define COMMAND_H

/* The sub-commands that main() calls. Each returns the exit status of holdtrace. */

#include <stdbool.h>

#include <stdint.h>

#include "base/error.h"

/*
 * Exit statuses of holdtrace. The last three have the same values as those of env(1) and
 * timeout(1).
 */
enum {
	STATUS_USAGE = 2,
	STATUS_UNKNOWN = 3, /* it is unknown whether a limit is broken */
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

/* Prints the program's name and a message as one line on standard error. Defined in main.c. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
