/* SPDX-License-Identifier: MIT */
#ifndef BEHIND_H
#define BEHIND_H

/*
 * Symbols of the modules that follow this library in the search order, as dlsym(RTLD_NEXT) finds
 * them. A process looks up hundreds of them at its start; dlsym would take some 1,500 instructions
 * for each, and allocates an error message for each missing one.
 */

#include <stdbool.h>

struct libc_places;

/*
 * Reads the list of modules that follow. known: where a libc has its functions, or NULL. Returns
 * false where only dlsym can answer: this library was loaded by dlopen, or a module has no
 * DT_GNU_HASH. Not thread-safe.
 */
bool behind_begin(const struct libc_places *known);

/* Whether this library was loaded with the program, before libc. Call behind_begin() first. */
bool behind_is_first(void);

/*
 * Returns the symbol's default version, or NULL if no module that follows defines it. *is_sure is
 * false where only dlsym knows (ifuncs, several default versions).
 */
void *behind_find(const char *name, bool *is_sure);

/*
 * Likewise for the hook of that name, if its address in libc is known and no module before libc
 * defines it; else NULL.
 */
void *behind_known(unsigned int hook, const char *name);

#endif
