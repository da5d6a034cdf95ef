/* SPDX-License-Identifier: MIT */
#ifndef ATTACH_H
#define ATTACH_H

/*
 * Finds the control page: from the collector of the run that the environment names, or by making a
 * control page and starting a collector.
 */

#include "arena.h"

/*
 * Maps the control page and keeps no descriptor of it. The mapping holds a shared flock, so that
 * the collector sees when the last process has ended. name: of the program, for its trace. Returns
 * NULL if the process is not to be traced.
 */
const struct control_page *attach_control(char **environment, const char *name);

/* Whether the run began with this program, according to the environment. */
bool attach_is_first(void);

#endif
