/* SPDX-License-Identifier: MIT */
#ifndef BASE_MAP_H
#define BASE_MAP_H

/*
 * A hash map from (kind, key) to a non-zero value, with open addressing: 16 bytes per entry, at
 * most half full. Most callers map an address, an id or a pair of numbers to an index. One map can
 * contain several kinds of keys. The seed is random, so that no input can be crafted to cause
 * collisions.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"

struct map_entry {
	uint64_t key;
	uint32_t kind;
	uint32_t value; /* 0: the entry is free */
};

struct map {
	struct map_entry *entries; /* NULL before the first map_put() */
	size_t mask, count;
	uint64_t seed;
};

/*
 * Initialises an empty map with a new seed. Does not allocate. A zeroed map is initialised by its
 * first map_put(); in a sandbox, that may be too late for a random seed.
 */
void map_init(struct map *map);

/* Empties the map, which can be used again without map_init(). */
void map_clear(struct map *map);

static inline size_t map_home(const struct map *map, uint32_t kind, uint64_t key)
{
	return (size_t)hash_mix(key ^ map->seed, 0x9e3779b97f4a7c15ull + kind * 2ull) & map->mask;
}

/* The entry of a key, or NULL. */
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

/* The value of a key; 0: the key is not in the map. */
static inline uint32_t map_get(const struct map *map, uint32_t kind, uint64_t key)
{
	const struct map_entry *entry = map_find(map, kind, key);

	return entry ? entry->value : 0;
}

/*
 * The entry of a key, which is added if necessary. A new entry has value 0, which the caller must
 * set before it uses the map again. Returns NULL if no memory is left.
 */
struct map_entry *map_put(struct map *map, uint32_t kind, uint64_t key);

/* Sets the value of a key; value 0 removes the key. Returns 0 or -ENOMEM. */
int map_set(struct map *map, uint32_t kind, uint64_t key, uint32_t value);

/* Removes an entry. Like map_put() and map_set(), this invalidates pointers to entries. */
void map_remove(struct map *map, struct map_entry *entry);

#endif
