/* SPDX-License-Identifier: MIT */
#ifndef RESOLVER_DEMANGLE_H /* libiberty defines DEMANGLE_H */
#define RESOLVER_DEMANGLE_H

/*
 * Converts linker names of C++ and Rust (both of its manglings) to source names. Uses libiberty, so
 * the results equal those of addr2line -C.
 */

#include <stdbool.h>

#include "resolver/symbol.h"

/*
 * Longer linker names are not demangled, because the time that the demangler takes may grow much
 * faster than the length.
 */
#define DEMANGLE_NAME_MAX 16384

/*
 * Returns the readable name, which the caller frees, or NULL if the caller must use the name
 * unchanged (it is not mangled, the style is DEMANGLE_NO, or there is no memory). *has_parameters:
 * whether the result ends with a parameter list.
 */
char *demangle(const char *name, enum demangle style, bool *has_parameters);

/* Skips IA__, the prefix of aliases in GTK's libraries, at the start of a name. */
const char *demangle_plain(const char *name);

#endif
