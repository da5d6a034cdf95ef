/* SPDX-License-Identifier: MIT */
#ifndef BEHIND_H
#define BEHIND_H

/*
 * Symbols of the modules that stand behind this one in the search order, as dlsym(RTLD_NEXT) finds
 * them, for whoever needs hundreds at the start of each process: dlsym takes some 1,500
 * instructions for each of them, and allocates the text of its complaint for those that are
 * missing.
 */

#include <stdbool.h>

struct libc_places;

/*
 * Finds out what stands behind. known: where the functions of a libc lie, or NULL. False: it cannot
 * be said so simply (this library was loaded by dlopen, a module has no DT_GNU_HASH), and dlsym has
 * to be asked. Not for several threads at once.
 */
bool behind_begin(const struct libc_places *known);

/* Whether this library was loaded with the program, before its libc. After behind_begin(). */
bool behind_is_first(void);

/*
 * The symbol's default version; NULL: nobody behind has it. *is_sure: false where only dlsym knows
 * (functions that choose themselves, several default versions).
 */
void *behind_find(const char *name, bool *is_sure);

/*
 * The same of a hook of that name, if it is known where libc has it and no module before libc has
 * one; else NULL.
 */
void *behind_known(unsigned int hook, const char *name);

#endif
