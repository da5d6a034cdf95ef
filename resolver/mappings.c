/* SPDX-License-Identifier: MIT */
#include "resolver/mappings.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void mappings_init(struct mappings *mappings)
{
	*mappings = (struct mappings){ 0 };
	table_init(&mappings->places);
}

void mappings_free(struct mappings *mappings)
{
	for (size_t i = 0; mappings->places.slots && i <= mappings->places.mask; i++)
		free(mappings->places.slots[i].item);
	table_free(&mappings->places);
	free(mappings->items);
}

static bool is_place(const void *item, const void *key)
{
	return memcmp(item, key, sizeof(struct place)) == 0;
}

static const struct place *find_place(struct mappings *mappings, const struct place *wanted)
{
	uint64_t hash = hash_bytes(mappings->places.seed, wanted, sizeof(*wanted));
	struct place *place = table_find(&mappings->places, hash, is_place, wanted);

	if (place)
		return place;
	place = malloc(sizeof(*place));
	if (!place)
		return NULL;
	memcpy(place, wanted, sizeof(*place));
	if (table_add(&mappings->places, hash, place) == 0)
		return place;
	free(place);
	return NULL;
}

/* The first mapping that ends behind address, or the count. */
static size_t mapping_after(const struct mappings *mappings, uint64_t address)
{
	size_t low = 0, high = mappings->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (mappings->items[middle].to <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Puts the pieces in the place of the removed ones that begin at index. */
static int splice(struct mappings *mappings, size_t index, size_t removed,
		  const struct mapping *pieces, size_t count)
{
	size_t rest = mappings->count - index - removed;
	struct mapping *list;

	/* Three pieces come at most; growing starts at more. */
	if (mappings->count + count > mappings->capacity &&
	    array_grow(&mappings->items, &mappings->capacity, sizeof(*list)) != 0)
		return -ENOMEM;
	list = mappings->items;
	memmove(list + index + count, list + index + removed, rest * sizeof(*list));
	memcpy(list + index, pieces, count * sizeof(*list));
	mappings->count = index + count + rest;
	return 0;
}

/* Lays mapping over the others: what it covers is gone, what it cuts keeps its ends. */
static int insert(struct mappings *mappings, const struct mapping *mapping)
{
	size_t index = mapping_after(mappings, mapping->from), last = index;
	struct mapping pieces[3];
	size_t count = 0;

	if (index < mappings->count && mappings->items[index].from < mapping->from) {
		pieces[count] = mappings->items[index];
		pieces[count++].to = mapping->from;
	}
	pieces[count++] = *mapping;
	while (last < mappings->count && mappings->items[last].from < mapping->to)
		last++;
	if (last > index && mappings->items[last - 1].to > mapping->to) {
		pieces[count] = mappings->items[last - 1];
		pieces[count++].from = mapping->to;
	}
	return splice(mappings, index, last - index, pieces, count);
}

int mappings_add(struct mappings *mappings, const struct resolve_module *module,
		 struct entry *entry)
{
	struct mapping mapping = { .from = module->from, .to = module->to };
	struct place place;

	/* Also the bytes between the members: places are compared whole. */
	memset(&place, 0, sizeof(place));
	place.entry = entry;
	place.base = module->base;
	place.start = module->from;
	place.size = module->to - module->from;
	if (module->exec_start < module->exec_end) {
		mapping.from = place.exec_start = module->exec_start;
		mapping.to = module->exec_end;
		place.exec_size = module->exec_end - module->exec_start;
		place.offset = module->offset;
	}
	if (mapping.from >= mapping.to)
		return -EINVAL;
	mapping.place = find_place(mappings, &place);
	return mapping.place ? insert(mappings, &mapping) : -ENOMEM;
}

const struct place *mappings_find(const struct mappings *mappings, uint64_t address)
{
	size_t index = mapping_after(mappings, address);

	if (index == mappings->count || mappings->items[index].from > address)
		return NULL;
	return mappings->items[index].place;
}

bool place_address(const struct place *place, const struct layout *layout, uint64_t address,
		   uint64_t *found)
{
	enum resolve_base base = place->base;

	if (place->exec_size) {
		uint64_t distance = address - place->exec_start;

		return layout_offset_address(layout, distance + place->offset, found) ||
		       layout_mapping_address(layout, place->exec_start, place->exec_size, distance,
					      found);
	}
	if (base == RESOLVE_BASE_UNKNOWN)
		base = layout_has_mapping_size(layout, place->size) ? RESOLVE_BASE_MAPPING
								    : RESOLVE_BASE_LOAD;
	if (base == RESOLVE_BASE_MAPPING)
		return layout_mapping_address(layout, place->start, place->size,
					      address - place->start, found);
	return layout_offset_address(layout, address - place->start, found);
}
