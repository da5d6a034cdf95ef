/* SPDX-License-Identifier: MIT */
#ifndef NAMING_TYPES_H
#define NAMING_TYPES_H

/*
 * The type of the objects in a block, from the functions that allocated it: containers and smart
 * pointers of C++ and Rust allocate by functions whose names contain the type. A function counts
 * only if it allocates nothing else, and if all functions between it and the hook are known
 * (types.def). Otherwise the type is unknown.
 */

#include <stdbool.h>
#include <stddef.h>

#include "naming/naming.h"

/*
 * Copies the type to `text`. symbols: those of a backtrace, innermost first (naming_symbols()).
 * Returns false if the type is unknown or longer than `size`.
 */
bool types_find(const struct naming_symbol *symbols, size_t count, char *text, size_t size);

#endif
