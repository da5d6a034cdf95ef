/* SPDX-License-Identifier: MIT */
#ifndef BEHIND_H
#define BEHIND_H

/*
 * Symbols of the modules that follow this library in the search order, as dlsym(RTLD_NEXT) finds
 * them. A process looks up hundreds of symbols at its start; dlsym would take some 1,500
 * instructions for each, and would allocate an error message for each missing one.
 */

#include <stdbool.h>

struct libc_places;

/*
 * Reads the list of modules that follow this library. known: the addresses of the functions in a
 * known libc, or NULL. Returns false if only dlsym finds symbols reliably: this library was loaded
 * by dlopen, there are too many modules, or a module has no DT_GNU_HASH. Not thread-safe.
 */
bool behind_begin(const struct libc_places *known);

/* Whether this library was loaded with the program, before libc. Call behind_begin() first. */
bool behind_is_first(void);

/*
 * Returns the symbol's default version, or NULL if no module that follows this library defines the
 * symbol. *is_sure is false if only dlsym finds the right definition (ifuncs, several versions).
 */
void *behind_find(const char *name, bool *is_sure);

/*
 * Returns the address of the hook's function in libc if `known` (behind_begin()) contains it and no
 * module before libc defines the name; else NULL.
 */
void *behind_known(unsigned int hook, const char *name);

#endif
