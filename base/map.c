/* SPDX-License-Identifier: MIT */
#include "base/map.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>

#define ENTRIES_MIN 64u

void map_init(struct map *map)
{
	struct hash_table seeded;

	hash_table_init(&seeded);
	*map = (struct map){ .seed = seeded.seed };
}

void map_clear(struct map *map)
{
	free(map->entries);
	map->entries = NULL;
	map->mask = map->count = 0;
}

/* The entry of a key, or the free entry where it would be added. */
static inline struct map_entry *entry_of(const struct map *map, uint32_t kind, uint64_t key)
{
	size_t i = map_home(map, kind, key);

	while (map->entries[i].value &&
	       (map->entries[i].key != key || map->entries[i].kind != kind))
		i = (i + 1) & map->mask;
	return &map->entries[i];
}

static bool map_resize(struct map *map, size_t size)
{
	struct map old = *map;

	map->entries = memory_zalloc(size, sizeof(*map->entries));
	if (!map->entries) {
		*map = old;
		return false;
	}
	map->mask = size - 1;
	for (size_t i = 0; old.entries && i <= old.mask; i++)
		if (old.entries[i].value)
			*entry_of(map, old.entries[i].kind, old.entries[i].key) = old.entries[i];
	free(old.entries);
	return true;
}

struct map_entry *map_put(struct map *map, uint32_t kind, uint64_t key)
{
	struct map_entry *entry;

	if (!map->entries && !map->seed)
		map_init(map);
	/* also true if the map is not allocated yet: its mask is 0 */
	if (map->count >= (map->mask + 1) / 2 &&
	    !map_resize(map, map->entries ? 2 * (map->mask + 1) : ENTRIES_MIN))
		return NULL;
	entry = entry_of(map, kind, key);
	if (entry->value)
		return entry;
	map->count++;
	entry->key = key;
	entry->kind = kind;
	return entry;
}

int map_set(struct map *map, uint32_t kind, uint64_t key, uint32_t value)
{
	struct map_entry *entry = value ? map_put(map, kind, key) : map_find(map, kind, key);

	if (!value && entry)
		map_remove(map, entry);
	if (!value)
		return 0;
	if (!entry)
		return -ENOMEM;
	entry->value = value;
	return 0;
}

/* Fills the hole with later entries of the probe sequence, so that no tombstones are needed. */
void map_remove(struct map *map, struct map_entry *entry)
{
	struct map_entry *entries = map->entries;
	size_t hole = (size_t)(entry - entries);

	for (size_t i = (hole + 1) & map->mask; entries[i].value; i = (i + 1) & map->mask) {
		size_t home = map_home(map, entries[i].kind, entries[i].key);

		if (((i - home) & map->mask) >= ((i - hole) & map->mask)) {
			entries[hole] = entries[i];
			hole = i;
		}
	}
	entries[hole].value = 0;
	map->count--;
}
