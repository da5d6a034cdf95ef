/* SPDX-License-Identifier: MIT */
#ifndef RUN_H
#define RUN_H

/* The commands run and record: a program under the tracer, with or without the screen at its end.
 */

#include <stdio.h>

void run_print_options(FILE *to);

#endif
