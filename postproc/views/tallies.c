/* SPDX-License-Identifier: MIT */
#include "postproc/views/tallies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

enum { OF_PROCESS, OF_RUN };

#define KEPT_SIZE (1u << 20) /* bytes of entries that are kept for the next process */

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
	place->function = pool_text_again(&tallies->pool, &tallies->recent, key.place.function);
	if (!place->function ||
	    table_add(&tallies->places_by_key, hash, (void *)(uintptr_t)tallies->places.count))
		return 0;
	return (uint32_t)tallies->places.count;
}

/* Index + 1 of the place of each site; NULL: no memory. */
static uint32_t *make_places(struct tallies *tallies, const struct sites *sites)
{
	uint32_t *places = calloc(sites->list.count, sizeof(*places));

	for (uint32_t i = 1; places && i < sites->list.count; i++) {
		places[i] = place_of(tallies, sites_at(sites, i));
		if (!places[i]) {
			free(places);
			return NULL;
		}
	}
	return places;
}

/* Of many sites the entries are given back, before the next tally grows. */
static void forget_process(struct tally *tally)
{
	tally->counts[OF_PROCESS] = 0;
	if (tally->capacities[OF_PROCESS] * tally->size < KEPT_SIZE)
		return;
	free(tally->entries[OF_PROCESS]);
	tally->entries[OF_PROCESS] = NULL;
	tally->capacities[OF_PROCESS] = 0;
}

static int merge_tally(struct tally *tally, const uint32_t *places, size_t count)
{
	if (count > tally->counts[OF_PROCESS])
		count = tally->counts[OF_PROCESS];
	for (size_t i = 1; i < count; i++) {
		void *run = entry_of(tally, OF_RUN, places[i] - 1);

		if (!run)
			return -ENOMEM;
		tally->merge(tally->user, run, tally->entries[OF_PROCESS] + i * tally->size);
	}
	return 0;
}

int tallies_close(struct tallies *tallies, const struct sites *sites)
{
	cleanup_free uint32_t *places = sites->list.count ? make_places(tallies, sites) : NULL;
	int rc = sites->list.count && !places ? -ENOMEM : 0;

	for (unsigned i = 0; i < tallies->count; i++) {
		if (rc == 0)
			rc = merge_tally(&tallies->list[i], places, sites->list.count);
		forget_process(&tallies->list[i]);
	}
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
