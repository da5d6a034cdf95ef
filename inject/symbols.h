/* SPDX-License-Identifier: MIT */
#ifndef INJECT_SYMBOLS_H
#define INJECT_SYMBOLS_H

/*
 * The dynamic symbols of a module, read from its file, because an earlier attach may have changed
 * the tables in memory. All values are checked against the file's size.
 */

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/target.h"

struct symbols {
	uint64_t bias;	    /* address minus symbol value */
	uint64_t low, high; /* address range of its code; both 0: the module has no code */
	Elf64_Sym *entries;
	uint16_t *versions; /* versions of the symbols; NULL: the module has none */
	char *names;	    /* ends with a NUL */
	size_t count, names_size;
};

/* map: the first mapping of the module. Returns 0 or a negative errno. */
int symbols_read(struct symbols *symbols, const struct target *target, const struct mapping *map);
void symbols_free(struct symbols *symbols);

/* Returns the default version of a function or variable that the module defines, or NULL. */
const Elf64_Sym *symbols_find(const struct symbols *symbols, const char *name);

/* Returns the address of the symbol, or 0 if the module does not define it. */
uint64_t symbols_address(const struct symbols *symbols, const char *name);

#endif
