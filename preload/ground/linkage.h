/* SPDX-License-Identifier: MIT */
#ifndef LINKAGE_H
#define LINKAGE_H

/*
 * What a loaded module defines and what it refers to, as its dynamic section says. Only where the
 * module stays and is relocated: under the loader's lock (from a constructor), or as in bypass.h.
 */

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of relocations whose place holds the address of a function. */
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
	uintptr_t low, high; /* the module's memory */
	const ElfW(Phdr) * segments;
	unsigned int segment_count;
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *hash; /* DT_GNU_HASH; NULL: it has none */
	const uint16_t *versions;
	const ElfW(Rela) * relocations[2]; /* of data, of calls */
	size_t relocation_count[2];
};

/* The first module of the program; the others follow by l_next. NULL: the loader knows us not. */
const struct link_map *linkage_first(void);

/* False for what is no module with symbols (the vDSO). */
bool linkage_read(struct linkage *linkage, const struct link_map *map);

/* Whether it is this library, or the loader itself. */
bool linkage_is_own(const struct linkage *linkage);
bool linkage_is_loader(const struct linkage *linkage);

/* False: it surely defines no symbol of this name. */
bool linkage_may_define(const struct linkage *linkage, const char *name);

/* The default version of a function that is defined there, or NULL. */
const ElfW(Sym) * linkage_find(const struct linkage *linkage, const char *name);

#endif
