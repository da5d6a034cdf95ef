/* SPDX-License-Identifier: MIT */
#ifndef INVOCATION_H
#define INVOCATION_H

/*
 * How this program was called: holdtrace runs the post-processor under its own name, and then it
 * speaks as holdtrace, and tells commands that the user can type.
 */

#include <stdbool.h>
#include <stddef.h>

/* The post-processor's first word where the rest are words of a command of holdtrace, behind it. */
#define INVOCATION_COMMAND "holdtrace:"

/* Whether the post-processor stands in for `holdtrace report` and the like. */
bool invocation_is_launcher(void);

/* Whether it was called by the name of sp-rtrace's tool, in whose place it stands. */
bool invocation_is_sp_rtrace(void);

/*
 * The beginning of a command that prints a report, up to where its name follows: "holdtrace report
 * " or "holdtrace-postproc --report=", with the directory that the user named. text: room for size
 * bytes.
 */
void invocation_of_report(char *text, size_t size);

#endif
