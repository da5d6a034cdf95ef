/* SPDX-License-Identifier: MIT */
#ifndef RUN_H
#define RUN_H

/* The commands run and record: a program under the tracer, with or without the screen at its end.
 */

#include <stdbool.h>
#include <stdio.h>

/* is_all: each with its whole text; else the usual ones, in a line or two. */
void run_print_options(FILE *to, bool is_all);

#endif
