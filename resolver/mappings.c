/* SPDX-License-Identifier: MIT */
#include "resolver/mappings.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

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
 * Whether `from` in a trace may be the start of a segment that was loaded with this bias. Programs
 * that write traces differ: `from` is the bias itself (holdtrace), the address of the start of the
 * file (older holdtrace), or the address of the code or of its first page (sp-rtrace).
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

bool layout_bias(const struct layout *layout, uint64_t from, uint64_t to, uint64_t *bias)
{
	*bias = 0;
	/* no file is mapped at address 0, so `from` and `to` are addresses in the file */
	if (from == 0)
		return true;
	for (uint32_t i = 0; i < layout->count; i++) {
		const struct segment *segment = &layout->segments[i];
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
	}
	return false;
}

/* ---- mappings ---- */

/*
 * A mapping of a range of addresses. Mappings never overlap: a later mapping removes the
 * overlapping parts of earlier ones.
 */
struct mapping {
	uint64_t from, last;
	const struct place *place;
};

void mappings_init(struct mappings *mappings)
{
	*mappings = (struct mappings){ 0 };
	hash_table_init(&mappings->places);
}

void mappings_free(struct mappings *mappings)
{
	for (size_t i = 0; mappings->places.slots && i <= mappings->places.mask; i++)
		free(mappings->places.slots[i].item);
	hash_table_free(&mappings->places);
	tdestroy(mappings->tree, free);
}

static bool is_place(const void *item, const void *key)
{
	return memcmp(item, key, sizeof(struct place)) == 0;
}

/*
 * Compares ranges. Overlapping ranges count as equal, so that a search finds any mapping that
 * overlaps.
 */
static int by_range(const void *left, const void *right)
{
	const struct mapping *a = left, *b = right;

	return a->last < b->from ? -1 : a->from > b->last;
}

static struct mapping *find_overlap(const struct mappings *mappings, uint64_t from, uint64_t last)
{
	const struct mapping wanted = { .from = from, .last = last };
	void *const *node = tfind(&wanted, &mappings->tree, by_range);

	return node ? *node : NULL;
}

static int add_mapping(struct mappings *mappings, uint64_t from, uint64_t last,
		       const struct place *place)
{
	struct mapping *mapping = malloc(sizeof(*mapping));

	if (!mapping)
		return -ENOMEM;
	*mapping = (struct mapping){ .from = from, .last = last, .place = place };
	if (tsearch(mapping, &mappings->tree, by_range))
		return 0;
	free(mapping);
	return -ENOMEM;
}

int mappings_add(struct mappings *mappings, const struct resolve_module *module,
		 struct entry *entry)
{
	uint64_t from = module->from, to = module->to;
	struct place place, *known;
	struct mapping *old;
	int failure = 0;
	uint64_t hash;

	/* clear the padding, too, because places are compared and hashed as bytes */
	memset(&place, 0, sizeof(place));
	place.entry = entry;
	place.start = module->from;
	place.size = module->to - module->from;
	if (module->exec_start < module->exec_end) {
		from = place.exec_start = module->exec_start;
		to = module->exec_end;
		place.exec_size = module->exec_end - module->exec_start;
		place.offset = module->offset;
	}
	if (from >= to)
		return -EINVAL;
	hash = hash_bytes(mappings->places.seed, &place, sizeof(place));
	known = hash_table_find(&mappings->places, hash, is_place, &place);
	if (!known) {
		known = malloc(sizeof(*known));
		if (known)
			memcpy(known, &place, sizeof(place));
		if (!known || hash_table_add(&mappings->places, hash, known) != 0) {
			free(known);
			return -ENOMEM;
		}
	}
	to--;
	/* remove the parts of earlier mappings that the new one overlaps; keep the other parts */
	while (!failure && (old = find_overlap(mappings, from, to)) != NULL) {
		const struct mapping before = *old;

		tdelete(old, &mappings->tree, by_range);
		free(old);
		if (before.from < from)
			failure = add_mapping(mappings, before.from, from - 1, before.place);
		if (!failure && before.last > to)
			failure = add_mapping(mappings, to + 1, before.last, before.place);
	}
	return failure ? failure : add_mapping(mappings, from, to, known);
}

const struct place *mappings_find(const struct mappings *mappings, uint64_t address)
{
	const struct mapping *mapping = find_overlap(mappings, address, address);

	return mapping ? mapping->place : NULL;
}

static bool find_bias(const struct place *place, const struct layout *layout, uint64_t *bias)
{
	if (place->exec_size)
		return layout_bias(layout, place->exec_start, place->exec_start + place->exec_size,
				   bias);
	return layout_bias(layout, place->start, place->start + place->size, bias);
}

bool place_fits(const struct place *place, const struct layout *layout)
{
	uint64_t bias;

	return find_bias(place, layout, &bias);
}

bool place_address(const struct place *place, const struct layout *layout, uint64_t address,
		   uint64_t *found)
{
	uint64_t bias;

	if (place->exec_size &&
	    layout_offset_address(layout, address - place->exec_start + place->offset, found))
		return true;
	if (!find_bias(place, layout, &bias))
		return false;
	*found = address - bias;
	return layout_is_code(layout, *found);
}
