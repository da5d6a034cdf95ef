/* SPDX-License-Identifier: MIT */
#ifndef OWN_H
#define OWN_H

/*
 * The ranges of memory that the library maps for itself. A later attach finds the memory of an
 * earlier one still mapped; this list is the only proof that it is not the program's.
 */

#include <stddef.h>

#include "arena.h"

/* Adds a range. Ranges beyond ARENA_OWN are not remembered. */
void own_add(const void *at, size_t size);

void own_tell(struct arena_own ranges[ARENA_OWN]);

#endif
