/* SPDX-License-Identifier: MIT */
#ifndef INVOCATION_H
#define INVOCATION_H

/*
 * The name by which this program was called. If `holdtrace report` runs the post-processor, the
 * post-processor prints errors under the name holdtrace and suggests holdtrace commands.
 */

#include <stdbool.h>
#include <stddef.h>

/* The post-processor's first argument if the other arguments are those of a holdtrace command. */
#define INVOCATION_COMMAND "holdtrace:"

/* True if the post-processor runs on behalf of `holdtrace report` or another holdtrace command. */
bool invocation_is_launcher(void);

/* True if the program was called as sp-rtrace-postproc, which it can replace. */
bool invocation_is_sp_rtrace(void);

/*
 * Writes the start of a command that prints a report: "holdtrace report " or "holdtrace-postproc
 * --report=", preceded by the directory with which the user called this program. The caller appends
 * the report's name. text: a buffer of `size` bytes.
 */
void invocation_of_report(char *text, size_t size);

#endif
