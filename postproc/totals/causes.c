/* SPDX-License-Identifier: MIT */
#include "causes.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/pool.h"
#include "base/hash_table.h"

/* maximum number of call sites to join: the largest are kept, the others discarded */
#define PLACES_READ 4096u

/* ---- moves of memory ---- */

static void merge_temporary(void *user, void *of_run, const void *of_process)
{
	(void)user;
	*(uint64_t *)of_run += *(const uint64_t *)of_process;
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct causes *causes = user;
	uint64_t *temporary;

	if (ledger_class(causes->ledger, move->class)->known != RESOURCE_MEMORY)
		return;
	if (ledger_move_is_temporary(causes->ledger, move, 1)) {
		temporary = tally_entry(causes->temporary, move->site);
		++*temporary;
	}
	peaks_move(&causes->peaks, move);
}

/* ---- the end of the run ---- */

ORDER_FUNCTION(compare_places, struct causes_place,
	       ORDER(b->bytes, a->bytes) ?: ORDER(b->count, a->count))

static void sort_places(struct causes_top *top)
{
	ARRAY_SORT(&top->places, compare_places);
}

static void add_place(struct causes_top *top, const struct trace_node *backtrace, uint64_t count,
		      uint64_t bytes)
{
	*ARRAY_ADD(&top->places) = (struct causes_place){
		.backtrace = backtrace, .count = count, .bytes = bytes, .sites = 1
	};
}

void causes_run(struct causes *causes)
{
	for (uint32_t i = 0; i < tallies_count(causes->tallies); i++) {
		const struct tally_place *place = tallies_place(causes->tallies, i);
		const uint64_t *temporary = tally_of_place(causes->temporary, i);
		struct peaks_amount amount;

		if (ledger_class(causes->ledger, place->class)->known != RESOURCE_MEMORY)
			continue;
		if (peaks_at(&causes->peaks, place->class, i, &amount))
			add_place(&causes->peak, place->backtrace, amount.count, amount.bytes);
		if (temporary && *temporary)
			add_place(&causes->temp, place->backtrace, *temporary, 0);
	}
	sort_places(&causes->peak);
	sort_places(&causes->temp);
	misuses_sort(&causes->misuses);
}

/* ---- call sites ---- */

struct named {
	struct causes_place *place;
	const char *call_site;
};

static bool is_called(const void *item, const void *call_site)
{
	return !strcmp(((const struct named *)item)->call_site, call_site);
}

/*
 * Joins places whose call sites look the same on the screen. The joined places are moved to the
 * front of the array.
 */
static void fold_sites(struct causes_top *top, struct naming *naming)
{
	size_t count = top->places.count < PLACES_READ ? top->places.count : PLACES_READ, kept = 0;
	char call_site[NAMING_SITE_MAX];
	struct named *all = memory_zalloc(count + 1, sizeof(*all));
	struct hash_table table;
	struct pool pool = { 0 };

	hash_table_init(&table);
	for (size_t i = 0; i < count; i++)
		naming_expect(naming, top->places.items[i].backtrace);
	for (size_t i = 0; i < count; i++) {
		struct causes_place place = top->places.items[i];
		struct named *same;
		uint64_t hash;

		naming_read_site(naming, place.backtrace, call_site, sizeof(call_site));
		hash = hash_bytes(table.seed, call_site, strlen(call_site));
		same = hash_table_find(&table, hash, is_called, call_site);
		if (same) {
			same->place->count += place.count;
			same->place->bytes += place.bytes;
			same->place->sites++;
			continue;
		}
		top->places.items[kept] = place;
		all[kept] = (struct named){ &top->places.items[kept],
					    pool_text(&pool, call_site, strlen(call_site)) };
		hash_table_add(&table, hash, &all[kept++]);
	}
	top->places.count = kept;
	hash_table_free(&table);
	pool_free(&pool);
	free(all);
	sort_places(top);
}

void causes_fold(struct causes *causes, struct naming *naming)
{
	fold_sites(&causes->peak, naming);
	fold_sites(&causes->temp, naming);
	/* these names were only compared, not shown: reset the counts of shown frames */
	naming_restart(naming);
}

/* ---- begin and end ---- */

void causes_create(struct causes **result, struct ledger *ledger, struct tallies *tallies)
{
	struct causes *causes = memory_zalloc(1, sizeof(*causes));

	causes->ledger = ledger;
	causes->tallies = tallies;
	peaks_init(&causes->peaks, ledger);
	causes->peaks.tally =
		tallies_add(tallies, sizeof(struct peaks_entry), peaks_merge, &causes->peaks);
	causes->temporary = tallies_add(tallies, sizeof(uint64_t), merge_temporary, causes);
	misuses_init(&causes->misuses, tallies->space);
	ledger_listen(ledger, on_move, causes);
	*result = causes;
}

void causes_destroy(struct causes *causes)
{
	if (!causes)
		return;
	misuses_free(&causes->misuses);
	free(causes->peak.places.items);
	free(causes->temp.places.items);
	free(causes);
}
