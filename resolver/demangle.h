/* SPDX-License-Identifier: MIT */
#ifndef RESOLVER_DEMANGLE_H /* DEMANGLE_H is libiberty's */
#define RESOLVER_DEMANGLE_H

/*
 * Linker names to source names: C++, and Rust in both its manglings, by libiberty; the results
 * equal those of addr2line -C.
 */

#include <stdbool.h>

#include "resolver/symbol.h"

/* Longer linker names are left as they are: the demangler's time has no bound by their length. */
#define DEMANGLE_NAME_MAX 16384

/*
 * Returns the readable name, to be freed, or NULL if name stays as it is (not mangled, style
 * DEMANGLE_NO, no memory). *has_parameters: the result ends with a parameter list.
 */
char *demangle(const char *name, enum demangle style, bool *has_parameters);

/* Skips a leading IA__ (the prefix of aliases in GTK's libraries). */
const char *demangle_plain(const char *name);

#endif
