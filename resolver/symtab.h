/* SPDX-License-Identifier: MIT */
#ifndef SYMTAB_H
#define SYMTAB_H

/* The functions of an ELF file's symbol tables, ordered by address. */

#include "base/array.h"
#include "resolver/elffile.h"
#include "resolver/ranges.h"

struct symtab {
	struct ranges sized, unsized; /* item: index into names */
	ARRAY_OF(const char *) names; /* owned by the ELF files */
};

/*
 * Adds the functions of file's section of this type (SHT_SYMTAB or SHT_DYNSYM). code: the file
 * whose segments say what is code (those of a debug file may not).
 */
void symtab_add(struct symtab *symtab, const struct elffile *file, unsigned type,
		const struct elffile *code);

/* Call it after the last symtab_add(). */
void symtab_sort(struct symtab *symtab);

/*
 * The function around address, else the preceding label without a size (assembly), or NULL. The
 * name may have a version after an @. *entry: where the function begins.
 */
const char *symtab_find(const struct symtab *symtab, uint64_t address, uint64_t *entry);

void symtab_free(struct symtab *symtab);

#endif
