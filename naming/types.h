/* SPDX-License-Identifier: MIT */
#ifndef NAMING_TYPES_H
#define NAMING_TYPES_H

/*
 * Finds the type of the objects in a block. Containers and smart pointers of C++ and Rust allocate
 * through functions whose names contain the type. Such a name is used only if the function
 * allocates nothing else, and if types.def lists all functions between it and the recorded function
 * (malloc). For other calls, debug information may show which object they allocate
 * (naming_allocated()). Else the type is unknown. If LTO or the linker has merged functions with
 * equal code, the name, and so the type, may be that of any of them.
 */

#include <stdbool.h>
#include <stddef.h>

#include "naming/naming.h"

/*
 * Copies the type to `text`. symbols: the symbols of a backtrace, innermost first
 * (naming_symbols()). Returns false if the type is unknown or longer than `size`.
 */
bool types_find(struct naming *naming, const struct naming_symbol *symbols, size_t count,
		char *text, size_t size);

#endif
