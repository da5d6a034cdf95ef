/* SPDX-License-Identifier: MIT */
#ifndef MISSING_H
#define MISSING_H

/* The list at the end: which modules gave no names, whom that concerns, and what to do about it. */

#include <stdbool.h>

#include "resolver/resolve.h"

/*
 * Prints a line for each such module; wants_lines: also for those that have names without lines.
 * fd: where to; errors of writing are nobody's business. program: stands before each line.
 */
void missing_print(struct resolve *resolve, int fd, const char *program, bool wants_lines);

#endif
