/* SPDX-License-Identifier: MIT */
#ifndef LAYOUT_H
#define LAYOUT_H

/* Where the code of an ELF file is in memory: converts mapped addresses to those of the file. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Linkers make one; code in segments beyond this limit gets no names. */
#define LAYOUT_SEGMENTS_MAX 8

struct segment {
	uint64_t offset, vaddr, filesz, memsz;
};

struct layout {
	uint32_t count;
	uint32_t is_debug; /* of a debug file: the offsets are its own, not the module's */
	struct segment segments[LAYOUT_SEGMENTS_MAX]; /* only executable ones */
};

/* Is address, as the file counts, in an executable segment? */
bool layout_is_code(const struct layout *layout, uint64_t address);

/*
 * The address, as the file counts, of the byte at this file offset. Returns false if no segment
 * contains it, or if the offsets are not the module's.
 */
bool layout_offset_address(const struct layout *layout, uint64_t offset, uint64_t *address);

/*
 * The load bias (memory address minus file address) of code for which a trace has only this range.
 * Writers begin the range at different points, but all end it with the code or its last page, so
 * the file tells which rule was used. Returns false if no rule fits: this is not the file that was
 * mapped.
 */
bool layout_bias(const struct layout *layout, uint64_t from, uint64_t to, uint64_t *bias);

#endif
