/* SPDX-License-Identifier: MIT */
#include "postproc/views/held.h"

#include <stdlib.h>

#include "base/table.h"

#define HELD_SLOTS_MIN 64u

void held_init(struct held_table *table)
{
	struct table seeded;

	table_init(&seeded);
	*table = (struct held_table){ .seed = seeded.seed };
}

void held_free(struct held_table *table)
{
	free(table->items);
	table->items = NULL;
	table->mask = table->count = 0;
}

static size_t home_of(const struct held_table *table, uint32_t class, uint64_t object)
{
	return (size_t)hash_mix(object ^ table->seed, 0x9e3779b97f4a7c15ull + class * 2) &
	       table->mask;
}

struct held *held_find(const struct held_table *table, uint32_t class, uint64_t object)
{
	if (!table->items)
		return NULL;
	for (size_t i = home_of(table, class, object);; i = (i + 1) & table->mask) {
		struct held *held = &table->items[i];

		if (!held->count)
			return NULL;
		if (held->object == object && held->class == class)
			return held;
	}
}

/* The free item where this one belongs. */
static struct held *place(struct held_table *table, uint32_t class, uint64_t object)
{
	size_t i = home_of(table, class, object);

	while (table->items[i].count)
		i = (i + 1) & table->mask;
	return &table->items[i];
}

static bool resize(struct held_table *table, size_t size)
{
	struct held_table old = *table;

	table->items = calloc(size, sizeof(*table->items));
	if (!table->items) {
		*table = old;
		return false;
	}
	table->mask = size - 1;
	for (size_t i = 0; old.items && i <= old.mask; i++)
		if (old.items[i].count)
			*place(table, old.items[i].class, old.items[i].object) = old.items[i];
	free(old.items);
	return true;
}

struct held *held_add(struct held_table *table, uint32_t class, uint64_t object)
{
	size_t size = table->items ? table->mask + 1 : 0;
	struct held *held;

	if (table->count + 1 > size / 4 * 3 && !resize(table, size ? size * 2 : HELD_SLOTS_MIN))
		return NULL;
	held = place(table, class, object);
	*held = (struct held){ .object = object, .class = class & 0xff, .count = 1 };
	table->count++;
	return held;
}

/* What stands behind and would have liked to stand here moves up: no tombstones. */
void held_remove(struct held_table *table, struct held *held)
{
	struct held *items = table->items;
	size_t hole = (size_t)(held - items);

	for (size_t i = (hole + 1) & table->mask; items[i].count; i = (i + 1) & table->mask) {
		size_t home = home_of(table, items[i].class, items[i].object);

		if (((i - home) & table->mask) >= ((i - hole) & table->mask)) {
			items[hole] = items[i];
			hole = i;
		}
	}
	items[hole].count = 0;
	table->count--;
}

struct held *held_next(const struct held_table *table, size_t *at)
{
	while (table->items && *at <= table->mask) {
		struct held *held = &table->items[(*at)++];

		if (held->count)
			return held;
	}
	return NULL;
}
