/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_LIBC_PLACES_H
#define COLLECT_LIBC_PLACES_H

/*
 * Where our own libc has the hooked functions. Programs of the run have the same one as a rule, and
 * looking for 240 names costs each of them more than all else that it finds out of itself.
 */

#include "arena.h"

/* Leaves it empty where that cannot be said: no libc of glibc's name, or one without a build-id. */
void libc_places_find(struct libc_places *places);

#endif
