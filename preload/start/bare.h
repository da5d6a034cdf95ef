/* SPDX-License-Identifier: MIT */
#ifndef BARE_H
#define BARE_H

/*
 * The library alone, without the launcher: it makes the board and starts the collector, and leaves
 * nothing of that in the host: no child to wait for, no descriptor, no signal.
 */

#include "arena.h"

/* Returns the board with a running collector, or NULL: the process stays untraced. */
const struct board *bare_start(char **environment, const char *name);

#endif
