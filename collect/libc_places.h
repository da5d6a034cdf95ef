/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_LIBC_PLACES_H
#define COLLECT_LIBC_PLACES_H

/*
 * Finds the addresses of the hooked functions in our own libc. Programs of the run usually have the
 * same libc, and looking up 240 names costs each of them more than the rest of its start.
 */

#include "arena.h"

/*
 * Leaves places empty if they cannot be found: no libc with glibc's name, or one without a
 * build-id.
 */
void libc_places_find(struct libc_places *places);

#endif
