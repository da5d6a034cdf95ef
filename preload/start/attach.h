/* SPDX-License-Identifier: MIT */
#ifndef ATTACH_H
#define ATTACH_H

/*
 * How a process gets the board: from the collector of its run, which the environment names, or by
 * making one and starting a collector of its own. And how it hands memory to the collector.
 */

#include "arena.h"

/*
 * Maps the board and keeps no descriptor of it; the mapping holds a shared flock, so that the
 * collector knows when the last process has gone. name: of the program, for its trace. Returns
 * NULL where the process stays untraced.
 */
const struct board *attach_board(char **environment, const char *name);

/*
 * Hands memory to the collector, if that is who it says, and waits for nobody. Returns 0 or
 * -errno. The descriptor stays the caller's.
 */
int attach_hand_over(int memory, const struct arena_hello *hello);

/* Whether the environment said that this is the program with which the run begins. */
bool attach_is_first(void);

/* Tells the collector that this process is not recorded, as --follow wants it. */
void attach_leave_out(const char *name);

/* Maps it to read, with the lock. NULL where there is no room. */
const struct board *attach_map_board(int fd);

/* The session's id as 32 hexadecimal digits: the collector's socket has this name. */
void attach_name_run(const char *id);

struct rlimit;

/*
 * Raises a limit of this process (RLIMIT_*) as far as it may be, for a moment: what was there
 * before goes to *before, for attach_limit(). Returns the hard limit.
 */
uint64_t attach_no_limit(int which, struct rlimit *before);
void attach_limit(int which, const struct rlimit *before);

#endif
