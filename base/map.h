/* SPDX-License-Identifier: MIT */
#ifndef BASE_MAP_H
#define BASE_MAP_H

/*
 * A hash map from (kind, key) to a number that is never 0, its entries in place: 16 bytes each, at
 * most half of them full. Most tables of the analyst number things that are known by an address,
 * an id or a pair of numbers; kind tells several such tables in one map apart. The seed is random,
 * so that no input can aim at one slot.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

struct map_entry {
	uint64_t key;
	uint32_t kind;
	uint32_t value; /* 0: the entry is free */
};

struct map {
	struct map_entry *entries; /* NULL until the first one */
	size_t mask, count;
	uint64_t seed;
};

/* An empty map with a new seed; allocates nothing. */
void map_init(struct map *map);

/* Empty again; map_init() need not be called for another use. */
void map_clear(struct map *map);

static inline size_t map_home(const struct map *map, uint32_t kind, uint64_t key)
{
	return (size_t)hash_mix(key ^ map->seed, 0x9e3779b97f4a7c15ull + kind * 2ull) & map->mask;
}

/* The entry, or NULL. */
static inline struct map_entry *map_find(const struct map *map, uint32_t kind, uint64_t key)
{
	if (!map->entries)
		return NULL;
	for (size_t i = map_home(map, kind, key);; i = (i + 1) & map->mask) {
		struct map_entry *entry = &map->entries[i];

		if (!entry->value)
			return NULL;
		if (entry->key == key && entry->kind == kind)
			return entry;
	}
}

/* Its number; 0: it has none. */
static inline uint32_t map_get(const struct map *map, uint32_t kind, uint64_t key)
{
	const struct map_entry *entry = map_find(map, kind, key);

	return entry ? entry->value : 0;
}

/* The entry, or a new one, whose number is 0 and must be set at once. NULL: no memory. */
struct map_entry *map_put(struct map *map, uint32_t kind, uint64_t key);

/* The number of a key from now on; 0: it has none, its entry goes. Returns 0 or -ENOMEM. */
int map_set(struct map *map, uint32_t kind, uint64_t key, uint32_t value);

/* Takes an entry out. Pointers from before are void, as they are after map_set(). */
void map_remove(struct map *map, struct map_entry *entry);

#endif
