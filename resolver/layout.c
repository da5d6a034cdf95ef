/* SPDX-License-Identifier: MIT */
#include "resolver/layout.h"

bool layout_is_code(const struct layout *layout, uint64_t address)
{
	for (size_t i = 0; i < layout->count; i++) {
		const struct segment *segment = &layout->segments[i];

		if (segment->is_code && address >= segment->vaddr &&
		    address - segment->vaddr < segment->memsz)
			return true;
	}
	return false;
}

bool layout_offset_address(const struct layout *layout, uint64_t offset, uint64_t *address)
{
	if (layout->is_debug)
		return false;
	for (size_t i = 0; i < layout->count; i++) {
		const struct segment *segment = &layout->segments[i];

		if (segment->is_code && offset >= segment->offset &&
		    offset - segment->offset < segment->filesz) {
			*address = offset - segment->offset + segment->vaddr;
			return true;
		}
	}
	return false;
}

static uint64_t round_down(uint64_t value, uint64_t page)
{
	return value & ~(page - 1);
}

bool layout_flat_address(const struct layout *layout, uint64_t size, uint64_t distance,
			 uint64_t *address)
{
	for (size_t i = 0; i < layout->count && layout->is_debug; i++) {
		const struct segment *segment = &layout->segments[i];

		/* Some say the end of the last page. */
		if (!segment->is_code || round_down(segment->vaddr + segment->memsz + 4095, 4096) !=
						 round_down(size + 4095, 4096))
			continue;
		*address = distance;
		return layout_is_code(layout, distance);
	}
	return false;
}

/* Of a segment's mapping; debug files keep memsz alone, and code has no part that is not in the
 * file. */
static uint64_t mapping_size(const struct segment *segment, uint64_t page)
{
	return round_down(segment->vaddr + segment->memsz + page - 1, page) -
	       round_down(segment->vaddr, page);
}

/* The page size of the traced machine: the one with which the load address comes out aligned. */
static uint64_t page_size(const struct segment *segment, uint64_t start)
{
	for (uint64_t page = 4096; page <= 65536; page *= 4) {
		uint64_t bias = start - round_down(segment->vaddr, page);

		if (segment->align > 1 && (bias & (segment->align - 1)) == 0)
			return page;
	}
	return 4096;
}

bool layout_mapping_address(const struct layout *layout, uint64_t start, uint64_t size,
			    uint64_t distance, uint64_t *address)
{
	const struct segment *chosen = NULL;

	for (size_t i = 0; i < layout->count; i++) {
		const struct segment *segment = &layout->segments[i];

		if (!segment->is_code)
			continue;
		if (!chosen)
			chosen = segment;
		if (size && mapping_size(segment, page_size(segment, start)) == size) {
			chosen = segment;
			break;
		}
	}
	if (!chosen)
		return false;
	*address = round_down(chosen->vaddr, page_size(chosen, start)) + distance;
	return layout_is_code(layout, *address);
}

bool layout_has_mapping_size(const struct layout *layout, uint64_t size)
{
	for (size_t i = 0; i < layout->count; i++) {
		if (layout->segments[i].is_code && mapping_size(&layout->segments[i], 4096) == size)
			return true;
	}
	return false;
}
