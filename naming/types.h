/* SPDX-License-Identifier: MIT */
#ifndef NAMING_TYPES_H
#define NAMING_TYPES_H

/*
 * The type of the objects in a block, from the functions that allocated it: containers and smart
 * pointers of C++ and Rust allocate by functions whose names contain the type. Only functions that
 * allocate nothing else count, and only if every function between them and the hook is known.
 * Otherwise the type is unknown, and it is never guessed.
 */

#include <stdbool.h>
#include <stddef.h>

#include "naming/naming.h"

/*
 * Copies the type to `text`. symbols: of a backtrace, innermost first (naming_symbols()). Returns
 * false if the type is unknown or longer than `size`.
 */
bool types_find(const struct naming_symbol *symbols, size_t count, char *text, size_t size);

#endif
