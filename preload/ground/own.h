/* SPDX-License-Identifier: MIT */
#ifndef OWN_H
#define OWN_H

/*
 * The ranges of memory that the library maps for itself. Memory that an earlier attach mapped is
 * still mapped at a later attach; only this list shows that it is not the program's memory.
 */

#include <stddef.h>

#include "arena.h"

/* Adds a range. Ranges beyond ARENA_OWN are not remembered. */
void own_add(const void *at, size_t size);

void own_tell(struct arena_own ranges[ARENA_OWN]);

#endif
