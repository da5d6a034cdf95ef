/* SPDX-License-Identifier: MIT */
#ifndef MISSING_H
#define MISSING_H

/*
 * The list at the end: modules that gave no names, the frames that this affects, and what to do
 * about it.
 */

#include <stdbool.h>

#include "resolver/resolve.h"

/*
 * Prints a line for each such module; wants_lines: also for modules that gave names without lines.
 * Errors of writing to fd are ignored. program: precedes each line.
 */
void missing_print(struct resolve *resolve, int fd, const char *program, bool wants_lines);

#endif
