/* SPDX-License-Identifier: MIT */
#include "tallies.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"

#define KEPT_CHUNKS 16u /* number of chunks of a process that are kept for the next process */

/* ---- entries ---- */

void *tally_make(struct tally *tally, int whose, uint32_t index)
{
	uint32_t chunk = index / TALLY_ENTRIES;
	char **place = ARRAY_AT(&tally->chunks[whose], chunk);

	if (!*place)
		*place = memory_zalloc(TALLY_ENTRIES, tally->size);
	return *place + index % TALLY_ENTRIES * tally->size;
}

/* ---- places of the run ---- */

/*
 * Finds or adds the place (call site of the run) of a site of the process. Returns its index + 1.
 */
static uint32_t place_of(struct tallies *tallies, const struct site *site)
{
	const struct trace_node *backtrace =
		space_backtrace(tallies->space, site->backtrace, site->index);
	uint32_t found;

	if (backtrace->number >= tallies->first_count) {
		size_t count = tallies->first_count + tallies->first_count / 2 + 1024;
		uint32_t *first;

		if (count <= backtrace->number)
			count = backtrace->number + 1;
		first = memory_resize(tallies->first, count * sizeof(*first));
		memset(first + tallies->first_count, 0,
		       (count - tallies->first_count) * sizeof(*first));
		tallies->first = first;
		tallies->first_count = count;
	}
	found = tallies->first[backtrace->number];
	while (found) {
		const struct tally_place *place = &tallies->places.items[found - 1];

		if (place->class == site->class && place->is_part == site->is_part &&
		    (place->backtrace->count || !strcmp(place->function, site->function->name)))
			return found;
		found = place->next;
	}
	*ARRAY_ADD(&tallies->places) = (struct tally_place){
		.backtrace = backtrace,
		.function = pool_text_again(&tallies->pool, &tallies->recent, site->function->name),
		.next = tallies->first[backtrace->number],
		.class = site->class,
		.is_part = site->is_part,
	};
	tallies->first[backtrace->number] = (uint32_t)tallies->places.count;
	return (uint32_t)tallies->places.count;
}

/*
 * Merges the entries of the process into those of the run. Frees the chunks of the process one by
 * one, to have space for chunks of the run; the first KEPT_CHUNKS are zeroed and kept for the next
 * process. places: index + 1 of the place of each site.
 */
static void merge_tally(struct tally *tally, const uint32_t *places, size_t count)
{
	for (size_t i = 0; i < tally->chunks[TALLY_OF_PROCESS].count; i++) {
		uint32_t from = (uint32_t)i * TALLY_ENTRIES;
		char **entries = &tally->chunks[TALLY_OF_PROCESS].items[i];

		for (uint32_t at = from ? from : 1;
		     *entries && at < from + TALLY_ENTRIES && at < count; at++)
			tally->merge(tally->user, tally_make(tally, TALLY_OF_RUN, places[at] - 1),
				     *entries + (at - from) * tally->size);
		if (*entries && i < KEPT_CHUNKS) {
			memset(*entries, 0, TALLY_ENTRIES * tally->size);
			continue;
		}
		free(*entries);
		*entries = NULL;
	}
}

void tallies_close(struct tallies *tallies, const struct sites *sites)
{
	cleanup_free uint32_t *places = memory_zalloc(sites->list.count + 1, sizeof(*places));

	for (uint32_t i = 1; i < sites->list.count; i++)
		places[i] = place_of(tallies, sites_at(sites, i));
	for (unsigned i = 0; i < tallies->count; i++)
		merge_tally(&tallies->list[i], places, sites->list.count);
}

void tallies_init(struct tallies *tallies, struct address_space *space)
{
	*tallies = (struct tallies){ .space = space };
}

void tallies_free(struct tallies *tallies)
{
	for (unsigned i = 0; i < tallies->count; i++)
		for (int whose = TALLY_OF_PROCESS; whose <= TALLY_OF_RUN; whose++) {
			for (size_t k = 0; k < tallies->list[i].chunks[whose].count; k++)
				free(tallies->list[i].chunks[whose].items[k]);
			free(tallies->list[i].chunks[whose].items);
		}
	free(tallies->first);
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
