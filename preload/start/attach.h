/* SPDX-License-Identifier: MIT */
#ifndef ATTACH_H
#define ATTACH_H

/*
 * How a process gets the board: from the collector of its run, which the environment names, or by
 * making one and starting a collector of its own.
 */

#include "arena.h"

/*
 * Maps the board and keeps no descriptor of it; the mapping holds a shared flock, so that the
 * collector knows when the last process has gone. name: of the program, for its trace. Returns
 * NULL where the process stays untraced.
 */
const struct board *attach_board(char **environment, const char *name);

/* Whether the environment said that this is the program with which the run begins. */
bool attach_is_first(void);

/* Maps it to read, with the lock. NULL where there is no room. */
const struct board *attach_map_board(int fd);

#endif
