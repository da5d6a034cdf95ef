/* SPDX-License-Identifier: MIT */
#ifndef MAPPINGS_H
#define MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "resolver/symbol.h"

/* The executable segments of an ELF file, to convert mapped addresses to addresses in the file. */

/* Linkers make one executable segment. Code in segments beyond this limit gets no names. */
#define LAYOUT_SEGMENTS_MAX 8

struct segment {
	uint64_t offset, vaddr, filesz, memsz;
};

struct layout {
	uint32_t count;
	/*
	 * whether the segments are those of a debug file; then the offsets differ from the module's
	 */
	uint32_t is_debug;
	struct segment segments[LAYOUT_SEGMENTS_MAX]; /* only executable segments */
};

/* Whether an address in the file (a virtual address of ELF) is in an executable segment. */
bool layout_is_code(const struct layout *layout, uint64_t address);

/*
 * Converts an offset in the file to an address in the file (a virtual address of ELF). Returns
 * false if no segment contains the offset, or if the segments are those of a debug file.
 */
bool layout_offset_address(const struct layout *layout, uint64_t offset, uint64_t *address);

/*
 * Finds the load bias (address in memory minus address in the file) of code from its range in a
 * trace. Programs that write traces have different rules for the start of the range, but all end it
 * at the end of the code or of its last page. So the file shows which rule was used. Returns false
 * if no rule fits, which means that another file was mapped.
 */
bool layout_bias(const struct layout *layout, uint64_t from, uint64_t to, uint64_t *bias);

/* ---- the mappings of modules, according to the trace so far ---- */

struct entry;

/* A mapping of a module as the trace describes it. Equal mappings are stored once. */
struct place {
	struct entry *entry;
	uint64_t start, size;			/* the range in the trace */
	uint64_t exec_start, exec_size, offset; /* executable part; 0: unknown */
};

struct mappings {
	void *tree; /* a tree of struct mapping, made by tsearch(3) */
	struct hash_table places;
};

void mappings_init(struct mappings *mappings);
void mappings_free(struct mappings *mappings);

/*
 * Adds a mapping of `module`. It replaces earlier mappings where it overlaps them. Returns 0,
 * -EINVAL for an empty range, or -ENOMEM.
 */
int mappings_add(struct mappings *mappings, const struct resolve_module *module,
		 struct entry *entry);

/* Returns the mapping that covers the address, or NULL. */
const struct place *mappings_find(const struct mappings *mappings, uint64_t address);

/*
 * Whether a file with this layout fits the mapping. If not, the traced program mapped another file.
 */
bool place_fits(const struct place *place, const struct layout *layout);

/*
 * Converts an address in memory to an address in the module's file. Returns false if the file has
 * no code at that address.
 */
bool place_address(const struct place *place, const struct layout *layout, uint64_t address,
		   uint64_t *found);

#endif
