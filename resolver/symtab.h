/* SPDX-License-Identifier: MIT */
#ifndef SYMTAB_H
#define SYMTAB_H

/* The functions in the symbol tables of a module's files, sorted by address. */

#include "base/array.h"
#include "resolver/elffile.h"
#include "resolver/ranges.h"

struct symtab {
	struct ranges sized, unsized; /* item: index into `names` */
	ARRAY_OF(const char *) names; /* strings in the ELF files */
};

/*
 * Adds the functions in the section of this type (SHT_SYMTAB or SHT_DYNSYM) of file. code: the file
 * whose segments contain the code (the segments of a debug file may be wrong).
 */
void symtab_add(struct symtab *symtab, const struct elffile *file, unsigned type,
		const struct elffile *code);

/* Sorts the functions. Call it after the last symtab_add(). */
void symtab_sort(struct symtab *symtab);

/*
 * Returns the name of the function that contains the address, or of the preceding label without a
 * size (assembly), or NULL. The name may have a version after an @. *entry: start of the function.
 */
const char *symtab_find(const struct symtab *symtab, uint64_t address, uint64_t *entry);

void symtab_free(struct symtab *symtab);

#endif
