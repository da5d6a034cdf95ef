/* SPDX-License-Identifier: MIT */
#ifndef OWN_H
#define OWN_H

/*
 * Where the library has mapped memory for itself: what of it is left when a process is attached to
 * again is not the program's, and nothing else tells.
 */

#include <stddef.h>

#include "arena.h"

/* From then on it is. Beyond ARENA_OWN of them nobody remembers. */
void own_add(const void *at, size_t size);

void own_tell(struct arena_own ranges[ARENA_OWN]);

#endif
