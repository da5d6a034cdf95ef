/* SPDX-License-Identifier: MIT */
#ifndef ATTACH_H
#define ATTACH_H

/* Finds the control page: that of the run that the environment names, or of a new run. */

#include "arena.h"

/*
 * Maps the control page and closes its descriptor. The mapping keeps a shared flock on the file, by
 * which the collector detects that the last process has ended. name: the program's name in the
 * trace. Returns NULL if the process is not traced.
 */
const struct control_page *attach_control(char **environment, const char *name);

/* Whether the run began with this program, according to the environment. */
bool attach_is_first(void);

#endif
