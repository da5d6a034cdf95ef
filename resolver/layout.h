/* SPDX-License-Identifier: MIT */
#ifndef LAYOUT_H
#define LAYOUT_H

/* Where the code of an ELF file comes to lie in memory: from mapped addresses to the file's own. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Linkers make one; code in those beyond has no names. */
#define LAYOUT_SEGMENTS_MAX 8

struct segment {
	uint64_t offset, vaddr, filesz, memsz;
};

struct layout {
	uint32_t count;
	uint32_t is_debug; /* a debug file's: the offsets are its own, not the module's */
	struct segment segments[LAYOUT_SEGMENTS_MAX]; /* executable ones only */
};

/* Is address in an executable segment, as the file counts addresses? */
bool layout_is_code(const struct layout *layout, uint64_t address);

/*
 * The address as the file counts, for a byte at this file offset. Returns false if no segment holds
 * it, or if the offsets are not the module's.
 */
bool layout_offset_address(const struct layout *layout, uint64_t offset, uint64_t *address);

/*
 * What to take from an address to get the file's own, for code of which a trace says this range
 * alone. Writers differ in where it begins, but it ends with the code or its last page; so the file
 * tells who wrote it. Returns false where it cannot: this is not the file that was mapped.
 */
bool layout_bias(const struct layout *layout, uint64_t from, uint64_t to, uint64_t *bias);

#endif
