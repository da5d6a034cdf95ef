/* SPDX-License-Identifier: MIT */
#ifndef BARE_H
#define BARE_H

/*
 * The library alone, without the launcher: it makes the arena and starts the collector, and leaves
 * nothing of that in the host: no child to wait for, no descriptor, no signal.
 */

#include "arena.h"

/* Returns the arena with a running collector, or NULL: the process stays untraced. */
struct arena *bare_start(char **environment, const char *name);

/* attach.c: see there. Returns NULL where there is no room. */
struct arena *attach_map(int fd, uint64_t size);

#endif
