/* SPDX-License-Identifier: MIT */
#ifndef LAUNCH_LIVE_H
#define LAUNCH_LIVE_H

#include <stdbool.h>

#include "base/error.h"

/* A number that may be a process's. A file of such a name is given as ./4711. */
bool live_is_process(const char *word);

/*
 * Ends as the program does that looks at running processes, called with these words (NULL behind
 * them); a process at their end stands for the files of its run. Returns a status if it cannot.
 */
int live_of_run(int argc, char **argv, struct error *err);

#endif
