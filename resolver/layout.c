/* SPDX-License-Identifier: MIT */
#include "resolver/layout.h"

bool layout_is_code(const struct layout *layout, uint64_t address)
{
	for (uint32_t i = 0; i < layout->count; i++) {
		const struct segment *segment = &layout->segments[i];

		if (address >= segment->vaddr && address - segment->vaddr < segment->memsz)
			return true;
	}
	return false;
}

bool layout_offset_address(const struct layout *layout, uint64_t offset, uint64_t *address)
{
	if (layout->is_debug)
		return false;
	for (uint32_t i = 0; i < layout->count; i++) {
		const struct segment *segment = &layout->segments[i];

		if (offset >= segment->offset && offset - segment->offset < segment->filesz) {
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

/*
 * Whether `from` in a trace may be the start of a segment that was loaded with this bias. Writers
 * of traces differ: `from` is the bias itself (holdtrace), the address of the start of the file
 * (older holdtrace), or the address of the code or of its first page (sp-rtrace).
 */
static bool bias_fits(const struct layout *layout, const struct segment *segment, uint64_t from,
		      uint64_t bias, uint64_t page)
{
	if (bias & 4095)
		return false;
	return from == bias || from == bias + segment->vaddr ||
	       from == bias + round_down(segment->vaddr, page) ||
	       (!layout->is_debug && from == bias + segment->vaddr - segment->offset) ||
	       (bias == 0 && from <= segment->vaddr);
}

static bool find_bias(const struct layout *layout, const struct segment *segment, uint64_t from,
		      uint64_t to, uint64_t *bias)
{
	uint64_t end = segment->vaddr + segment->memsz;

	for (uint64_t page = 4096; page <= 65536; page *= 4) {
		/* the range ends at the end of the code, or of the last page of the code */
		*bias = to - end;
		if (bias_fits(layout, segment, from, *bias, page))
			return true;
		*bias = to - round_down(end + page - 1, page);
		if (bias_fits(layout, segment, from, *bias, page))
			return true;
	}
	return false;
}

bool layout_bias(const struct layout *layout, uint64_t from, uint64_t to, uint64_t *bias)
{
	*bias = 0;
	/* no file is mapped at address 0, so `from` and `to` are addresses in the file */
	if (from == 0)
		return true;
	for (uint32_t i = 0; i < layout->count; i++)
		if (find_bias(layout, &layout->segments[i], from, to, bias))
			return true;
	return false;
}
