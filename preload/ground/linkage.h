/* SPDX-License-Identifier: MIT */
#ifndef LINKAGE_H
#define LINKAGE_H

/*
 * The symbols that a loaded module defines or refers to, read from its dynamic section. The module
 * must be relocated, and stay loaded: call these functions under the loader's lock (from a
 * constructor), or as bypass.h does.
 */

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Relocation types whose target holds the address of a function. */
#if defined(__x86_64__)
#define SLOT_CALL R_X86_64_JUMP_SLOT
#define SLOT_DATA R_X86_64_GLOB_DAT
#define SLOT_WORD R_X86_64_64
#elif defined(__aarch64__)
#define SLOT_CALL R_AARCH64_JUMP_SLOT
#define SLOT_DATA R_AARCH64_GLOB_DAT
#define SLOT_WORD R_AARCH64_ABS64
#else
#define SLOT_CALL UINT32_MAX
#define SLOT_DATA UINT32_MAX
#define SLOT_WORD UINT32_MAX
#endif

struct linkage {
	const struct link_map *map;
	uintptr_t low, high; /* the module's address range */
	const ElfW(Phdr) * segments;
	unsigned int segment_count;
	const ElfW(Sym) * symbols;
	const char *names;
	/* DT_GNU_HASH: four words, a Bloom filter, buckets, chains (a chain's last hash is odd) */
	const uint32_t *hash;
	const uint16_t *versions;	   /* NULL: symbols have no versions */
	const ElfW(Rela) * relocations[2]; /* [0]: relocations of data; [1]: of calls */
	size_t relocation_count[2];
};

/* Returns the program's first module; NULL: the loader's table does not list this library. */
const struct link_map *linkage_first(void);

/* Reads a module. Returns false if it has no symbols or is missing in the loader's table. */
bool linkage_read(struct linkage *linkage, const struct link_map *map);

/* Like linkage_read(); also returns false for this library and for the loader. */
bool linkage_read_other(struct linkage *linkage, const struct link_map *map);

/* Whether the module is this library. */
bool linkage_is_own(const struct linkage *linkage);

/* Reads only what linkage_find() needs. The module may be missing in the loader's table. */
bool linkage_read_symbols(struct linkage *linkage, const struct link_map *map);

#define VERSION_HIDDEN 0x8000u /* flag of an entry in `versions`: not the default version */

/* Returns false if the module certainly defines no symbol of this name. */
bool linkage_may_define(const struct linkage *linkage, const char *name);

/*
 * Returns the number of the next symbol of this name after symbol `last` (0: from the start), or 0.
 * hash: plain_symbol_hash() of the name.
 */
uint32_t linkage_next(const struct linkage *linkage, const char *name, uint32_t hash,
		      uint32_t last);

/* Returns the default version of a function if the module defines it, else NULL. */
const ElfW(Sym) * linkage_find(const struct linkage *linkage, const char *name);

/* Like linkage_find(), for functions and variables. */
const ElfW(Sym) * linkage_find_any(const struct linkage *linkage, const char *name);

#endif
