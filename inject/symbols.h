/* SPDX-License-Identifier: MIT */
#ifndef INJECT_SYMBOLS_H
#define INJECT_SYMBOLS_H

/*
 * The dynamic symbols of a module. They are read from its file, since a table in memory may have
 * been changed by us; what the file says is checked against its size.
 */

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/target.h"

struct symbols {
	uint64_t bias;	    /* what to add to a value for its address */
	uint64_t low, high; /* where its code is; both 0: it has none */
	Elf64_Sym *entries;
	uint16_t *versions; /* or NULL */
	char *names;	    /* ends in a NUL */
	size_t count, names_size;
};

/* map: the module's first one. Returns 0 or a negative errno. */
int symbols_read(struct symbols *symbols, const struct target *target, const struct mapping *map);
void symbols_free(struct symbols *symbols);

/* The default version of a function or variable that is defined here; NULL. */
const Elf64_Sym *symbols_find(const struct symbols *symbols, const char *name);

/* Its address, 0 if there is none. */
uint64_t symbols_address(const struct symbols *symbols, const char *name);

#endif
