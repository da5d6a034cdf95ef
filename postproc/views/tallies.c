/* SPDX-License-Identifier: MIT */
#include "postproc/views/tallies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { OF_PROCESS, OF_RUN };

/* ---- entries ---- */

static void *entry_of(struct tally *tally, int whose, size_t index)
{
	size_t capacity = tally->capacities[whose] ? tally->capacities[whose] : 256;

	if (index >= tally->capacities[whose]) {
		char *entries;

		while (capacity <= index)
			capacity *= 2;
		entries = realloc(tally->entries[whose], capacity * tally->size);
		if (!entries)
			return NULL;
		tally->entries[whose] = entries;
		tally->capacities[whose] = capacity;
	}
	if (index >= tally->counts[whose]) {
		memset(tally->entries[whose] + tally->counts[whose] * tally->size, 0,
		       (index + 1 - tally->counts[whose]) * tally->size);
		tally->counts[whose] = index + 1;
	}
	return tally->entries[whose] + index * tally->size;
}

void *tally_entry(struct tally *tally, uint32_t site)
{
	if (site < tally->counts[OF_PROCESS])
		return tally->entries[OF_PROCESS] + site * tally->size;
	return entry_of(tally, OF_PROCESS, site);
}

void *tally_of_place(const struct tally *tally, uint32_t place)
{
	return place < tally->counts[OF_RUN] ? tally->entries[OF_RUN] + place * tally->size : NULL;
}

/* ---- places of the run ---- */

struct place_key {
	const struct tallies *tallies;
	struct tally_place place;
};

/* Places stand in the table by their index + 1, since their array moves. */
static bool is_place(const void *item, const void *key)
{
	const struct place_key *wanted = key;
	const struct tally_place *place = &wanted->tallies->places.items[(uintptr_t)item - 1];

	return place->class == wanted->place.class && place->is_part == wanted->place.is_part &&
	       place->backtrace == wanted->place.backtrace &&
	       (place->backtrace->count || !strcmp(place->function, wanted->place.function));
}

/* Index + 1 of the place of a site; 0: no memory. */
static uint32_t place_of(struct tallies *tallies, const struct site *site)
{
	struct place_key key = {
		.tallies = tallies,
		.place = { .class = site->class,
			   .is_part = site->is_part,
			   .backtrace =
				   atlas_backtrace(tallies->atlas, site->backtrace, site->index),
			   .function = site->function->name },
	};
	uint64_t hash =
		hash_two(tallies->places_by_key.seed, (uintptr_t)key.place.backtrace, site->class);
	struct tally_place *place;
	void *found;

	if (!key.place.backtrace)
		return 0;
	found = table_find(&tallies->places_by_key, hash, is_place, &key);
	if (found)
		return (uint32_t)(uintptr_t)found;
	place = ARRAY_ADD(&tallies->places);
	if (!place)
		return 0;
	*place = key.place;
	place->function = pool_text(&tallies->pool, key.place.function, strlen(key.place.function));
	if (!place->function ||
	    table_add(&tallies->places_by_key, hash, (void *)(uintptr_t)tallies->places.count))
		return 0;
	return (uint32_t)tallies->places.count;
}

static int merge_site(struct tallies *tallies, const struct sites *sites, uint32_t site)
{
	uint32_t place = place_of(tallies, sites_at(sites, site));

	if (!place)
		return -ENOMEM;
	for (unsigned i = 0; i < tallies->count; i++) {
		struct tally *tally = &tallies->list[i];
		void *run = site < tally->counts[OF_PROCESS] ? entry_of(tally, OF_RUN, place - 1)
							     : NULL;

		if (site >= tally->counts[OF_PROCESS])
			continue;
		if (!run)
			return -ENOMEM;
		tally->merge(tally->user, run, tally->entries[OF_PROCESS] + site * tally->size);
	}
	return 0;
}

int tallies_close(struct tallies *tallies, const struct sites *sites)
{
	int rc = 0;

	for (uint32_t i = 1; rc == 0 && i < sites->list.count; i++)
		rc = merge_site(tallies, sites, i);
	for (unsigned i = 0; i < tallies->count; i++)
		tallies->list[i].counts[OF_PROCESS] = 0;
	return rc;
}

void tallies_init(struct tallies *tallies, struct atlas *atlas)
{
	*tallies = (struct tallies){ .atlas = atlas };
	table_init(&tallies->places_by_key);
}

void tallies_free(struct tallies *tallies)
{
	for (unsigned i = 0; i < tallies->count; i++) {
		free(tallies->list[i].entries[OF_PROCESS]);
		free(tallies->list[i].entries[OF_RUN]);
	}
	table_free(&tallies->places_by_key);
	pool_free(&tallies->pool);
	free(tallies->places.items);
}

struct tally *tallies_add(struct tallies *tallies, size_t size,
			  void (*merge)(void *user, void *run, const void *process), void *user)
{
	struct tally *tally = &tallies->list[tallies->count++];

	*tally = (struct tally){ .size = size, .merge = merge, .user = user };
	return tally;
}
