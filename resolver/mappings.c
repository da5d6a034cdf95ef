/* SPDX-License-Identifier: MIT */
#include "resolver/mappings.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

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

static const struct place *find_place(struct mappings *mappings, const struct place *wanted)
{
	uint64_t hash = hash_bytes(mappings->places.seed, wanted, sizeof(*wanted));
	struct place *place = hash_table_find(&mappings->places, hash, is_place, wanted);

	if (place)
		return place;
	place = malloc(sizeof(*place));
	if (!place)
		return NULL;
	memcpy(place, wanted, sizeof(*place));
	if (hash_table_add(&mappings->places, hash, place) == 0)
		return place;
	free(place);
	return NULL;
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

/*
 * Inserts a mapping. Removes the parts of earlier mappings that it overlaps; their other parts
 * remain.
 */
static int insert_mapping(struct mappings *mappings, uint64_t from, uint64_t last,
			  const struct place *place)
{
	struct mapping *old;
	int failure = 0;

	while (!failure && (old = find_overlap(mappings, from, last)) != NULL) {
		const struct mapping cut = *old;

		tdelete(old, &mappings->tree, by_range);
		free(old);
		if (cut.from < from)
			failure = add_mapping(mappings, cut.from, from - 1, cut.place);
		if (!failure && cut.last > last)
			failure = add_mapping(mappings, last + 1, cut.last, cut.place);
	}
	return failure ? failure : add_mapping(mappings, from, last, place);
}

int mappings_add(struct mappings *mappings, const struct resolve_module *module,
		 struct entry *entry)
{
	uint64_t from = module->from, to = module->to;
	const struct place *known;
	struct place place;

	/* clears the padding, too, because places are compared and hashed as bytes */
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
	known = find_place(mappings, &place);
	return known ? insert_mapping(mappings, from, to - 1, known) : -ENOMEM;
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
