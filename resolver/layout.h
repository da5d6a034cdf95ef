/* SPDX-License-Identifier: MIT */
#ifndef LAYOUT_H
#define LAYOUT_H

/* Where the parts of an ELF file come to lie in memory: from mapped addresses to the file's own. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct segment {
	uint64_t offset, vaddr, filesz, memsz, align;
	bool is_code;
};

struct layout {
	struct segment *segments; /* PT_LOAD only */
	size_t count;
	bool is_debug; /* a debug file's: the offsets are its own, not the module's */
};

/* Is address in an executable segment, as the file counts addresses? */
bool layout_is_code(const struct layout *layout, uint64_t address);

/*
 * The address as the file counts, for a byte at this file offset. Returns false if no segment holds
 * it, or if the offsets are not the module's.
 */
bool layout_offset_address(const struct layout *layout, uint64_t offset, uint64_t *address);

/*
 * The same with a debug file, whose offsets are its own: for modules whose code lies in memory as
 * it does in the file. size: from the load base to the end of the code, which must prove that.
 */
bool layout_flat_address(const struct layout *layout, uint64_t size, uint64_t distance,
			 uint64_t *address);

/*
 * The same for a byte `distance` bytes behind the start of the executable mapping. size: of that
 * mapping, 0 if unknown; start: its address, which tells the page size.
 */
bool layout_mapping_address(const struct layout *layout, uint64_t start, uint64_t size,
			    uint64_t distance, uint64_t *address);

/* Is this the size of an executable mapping of the file, rounded to pages? */
bool layout_has_mapping_size(const struct layout *layout, uint64_t size);

#endif
