/* SPDX-License-Identifier: MIT */
#ifndef ATTACH_H
#define ATTACH_H

/*
 * How a process gets the arena: from the collector of its run, which the environment names, or by
 * making one and starting a collector of its own.
 */

#include "arena.h"

/*
 * Maps the arena and keeps no descriptor of it; the mapping holds a shared flock, so that the
 * collector knows when the last process has gone. name: of the program, for its trace. Returns
 * NULL where the process stays untraced.
 */
struct arena *attach_arena(char **environment, const char *name);

struct rlimit;

/*
 * Raises a limit of this process (RLIMIT_*) as far as it may be, for a moment: what was there
 * before goes to *before, for attach_limit(). Returns the hard limit.
 */
uint64_t attach_no_limit(int which, struct rlimit *before);
void attach_limit(int which, const struct rlimit *before);

#endif
