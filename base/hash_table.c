/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/hash_table.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define HASH_TABLE_SLOTS_MIN 64u

void hash_table_init(struct hash_table *table)
{
	memset(table, 0, sizeof(*table));
	if (getrandom(&table->seed, sizeof(table->seed), GRND_NONBLOCK) != sizeof(table->seed)) {
		struct timespec now;

		/*
		 * getrandom() fails early in the boot and in some sandboxes; this seed is less
		 * random, but not constant
		 */
		clock_gettime(CLOCK_MONOTONIC, &now);
		table->seed = hash_two((uint64_t)getpid(), (uint64_t)now.tv_nsec,
				       (uint64_t)(uintptr_t)table);
	}
}

void hash_table_free(struct hash_table *table)
{
	free(table->slots);
	table->slots = NULL;
	table->mask = table->count = 0;
}

static void hash_table_put(struct hash_table *table, uint64_t hash, void *item)
{
	size_t i = hash & table->mask;

	while (table->slots[i].item)
		i = (i + 1) & table->mask;
	table->slots[i] = (struct hash_table_slot){ hash, item };
}

int hash_table_add(struct hash_table *table, uint64_t hash, void *item)
{
	struct hash_table_slot *old = table->slots, *slots;
	size_t old_size = old ? table->mask + 1 : 0;
	size_t size = old ? old_size * 2 : HASH_TABLE_SLOTS_MIN;

	/* Keeps the table at most two thirds full. */
	if (table->count + 1 > old_size / 3 * 2) {
		slots = memory_zalloc(size, sizeof(*slots));
		if (!slots)
			return -ENOMEM;
		table->slots = slots;
		table->mask = size - 1;
		for (size_t i = 0; i < old_size; i++)
			if (old[i].item)
				hash_table_put(table, old[i].hash, old[i].item);
		free(old);
	}
	hash_table_put(table, hash, item);
	table->count++;
	return 0;
}

void hash_table_remove(struct hash_table *table, uint64_t hash, const void *item)
{
	size_t hole = hash & table->mask;

	while (table->slots[hole].item != item)
		hole = (hole + 1) & table->mask;
	/*
	 * Fills the hole with later items of the probe sequence, so that no tombstones are needed.
	 */
	for (size_t i = (hole + 1) & table->mask; table->slots[i].item; i = (i + 1) & table->mask) {
		size_t home = table->slots[i].hash & table->mask;

		if (((i - home) & table->mask) >= ((i - hole) & table->mask)) {
			table->slots[hole] = table->slots[i];
			hole = i;
		}
	}
	table->slots[hole].item = NULL;
	table->count--;
}
