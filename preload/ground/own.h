/* SPDX-License-Identifier: MIT */
#ifndef OWN_H
#define OWN_H

/*
 * The ranges of memory that the library maps for itself. The memory of an earlier attach is still
 * mapped at a later one; only this list shows that this memory is not the program's.
 */

#include <stddef.h>

#include "arena.h"

/* Adds a range. Ranges beyond ARENA_OWN are not remembered. */
void own_add(const void *at, size_t size);

void own_tell(struct arena_own ranges[ARENA_OWN]);

#endif
