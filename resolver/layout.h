/* SPDX-License-Identifier: MIT */
#ifndef LAYOUT_H
#define LAYOUT_H

/* The executable segments of an ELF file, to convert mapped addresses to addresses in the file. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Linkers make one executable segment. Code in segments beyond this limit gets no names. */
#define LAYOUT_SEGMENTS_MAX 8

struct segment {
	uint64_t offset, vaddr, filesz, memsz;
};

struct layout {
	uint32_t count;
	/*
	 * whether the segments are those of a debug file, whose offsets differ from those of the
	 * module
	 */
	uint32_t is_debug;
	struct segment segments[LAYOUT_SEGMENTS_MAX]; /* only executable segments */
};

/* Whether an address in the file (a virtual address of ELF) is in an executable segment. */
bool layout_is_code(const struct layout *layout, uint64_t address);

/*
 * Converts an offset in the file to an address in the file. Returns false if no segment contains
 * the offset, or if the offsets are those of a debug file.
 */
bool layout_offset_address(const struct layout *layout, uint64_t offset, uint64_t *address);

/*
 * Finds the load bias (address in memory minus address in the file) of code for which a trace has
 * only this range. Writers of traces begin the range at different points, but all end it at the end
 * of the code or of its last page. So the file shows which rule the writer used. Returns false if
 * no rule fits, which means that another file was mapped.
 */
bool layout_bias(const struct layout *layout, uint64_t from, uint64_t to, uint64_t *bias);

#endif
