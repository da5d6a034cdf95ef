/* SPDX-License-Identifier: MIT */
#ifndef RESOLVER_DEMANGLE_H /* DEMANGLE_H is libiberty's */
#define RESOLVER_DEMANGLE_H

/*
 * Linker names to names as people write them: C++, and Rust in both its manglings, through
 * libiberty, whose answers addr2line -C gives.
 */

#include <stdbool.h>

#include "resolver/symbol.h"

/* Longer linker names stay as they are: the demangler's time is not bounded by their length. */
#define DEMANGLE_NAME_MAX 16384

/*
 * Returns the readable name, to be freed, or NULL if name stays as it is (not mangled, not to be
 * demangled, no memory). *has_parameters tells whether the answer ends in a parameter list.
 */
char *demangle(const char *name, enum demangle style, bool *has_parameters);

/* Steps over a leading IA__ (the prefix of aliases in GTK's libraries). */
const char *demangle_plain(const char *name);

#endif
