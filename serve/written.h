/* SPDX-License-Identifier: MIT */
#ifndef WRITTEN_H
#define WRITTEN_H

/* Functions of holdtrace-view and holdtrace-push, which `holdtrace view` and `push` start. */

#include "base/options.h"

enum { STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_FAILURE = 125 }; /* exit statuses */

/*
 * Reads the arguments: the path of the post-processor, then options and words. command: view or
 * push. usage: the text of `holdtrace-COMMAND --help`. Sets the handler for failed allocations.
 * Returns -1, or the status with which the program must end.
 */
int written_begin(const char *command, const char *usage, const struct option_table *table,
		  void *asked, int argc, char **argv);

/* Prints why the arguments are wrong. Returns STATUS_USAGE. */
int written_refuse(const char *text);

/*
 * Runs the post-processor, which writes a run in the format of a viewer to `fd`. words: the path of
 * the post-processor, its arguments, and NULL. Returns 0 if it wrote something, else its exit
 * status: 2 for wrong arguments, 125 if it could not be run.
 */
int written_run(const char *format, char **words, int fd);

#endif
