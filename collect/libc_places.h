/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_LIBC_PLACES_H
#define COLLECT_LIBC_PLACES_H

/*
 * Finds the offsets of the hooked functions in the collector's libc. Programs of the run usually
 * have the same libc, and looking up 240 names would cost each program more than all other work at
 * its start.
 */

#include "arena.h"

/* Fills `places`; leaves it empty if no libc has glibc's file name, or it has no build-id. */
void libc_places_find(struct libc_places *places);

#endif
