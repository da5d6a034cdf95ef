/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_TALLIES_H
#define TOTALS_TALLIES_H

/*
 * Sums by call site. A report adds up its values for each site of the current process. When the
 * process has ended, each of its sites is mapped to a place: a call site of the run, which may have
 * sites in several processes. Then the sums of the sites are merged into the sums of the places.
 * Memory grows with the number of distinct backtraces.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "naming/address_space.h"

/* A place of the run: acquisitions of one class with one backtrace, in any process. */
struct tally_place {
	const struct trace_node *backtrace; /* never NULL; may be empty (count 0) */
	const char *function;		    /* the hooked function of the first call */
	/* index + 1 of the next place with the same backtrace; 0: none */
	uint32_t next;
	uint8_t class; /* number of the class, for ledger_class() */
	bool is_part;
};

#define TALLY_ENTRIES 256u /* number of entries in a chunk */

/*
 * The values of a report for each call site of the process (site) and of the run (place). merge()
 * adds an entry of the process to an entry of the run. New entries are zeros.
 */
struct tally {
	size_t size; /* size of an entry in bytes */
	void (*merge)(void *user, void *run, const void *process);
	void *user;
	/*
	 * chunks of entries: entries in chunks[TALLY_OF_PROCESS] are indexed by site, entries in
	 * chunks[TALLY_OF_RUN] by place; NULL: no entry of the chunk was made yet
	 */
	ARRAY_OF(char *) chunks[2];
};

enum { TALLY_OF_PROCESS, TALLY_OF_RUN };

struct tallies {
	struct address_space *space;
	struct pool pool;
	struct pool_recent recent; /* names of functions */
	ARRAY_OF(struct tally_place) places;
	/*
	 * indexed by number of a node of the address map: index + 1 of the first place with that
	 * backtrace; 0: none
	 */
	uint32_t *first;
	size_t first_count;
	/* a fold (code that fills tables) has as many tallies as listeners, or one or two more */
	struct tally list[LEDGER_LISTENERS + 4];
	unsigned count;
};

void tallies_init(struct tallies *tallies, struct address_space *space);
void tallies_free(struct tallies *tallies);

/*
 * Adds a tally with entries of `size` bytes. It belongs to `tallies`. Call it before the first
 * event.
 */
struct tally *tallies_add(struct tallies *tallies, size_t size,
			  void (*merge)(void *user, void *run, const void *process), void *user);

/*
 * Finds or makes an entry. whose: TALLY_OF_PROCESS or TALLY_OF_RUN; index: number of the site or
 * place.
 */
void *tally_make(struct tally *tally, int whose, uint32_t index);

/* Finds an entry. Returns NULL if it was not made. */
static inline void *tally_find(const struct tally *tally, int whose, uint32_t index)
{
	uint32_t chunk = index / TALLY_ENTRIES;
	char *entries =
		chunk < tally->chunks[whose].count ? tally->chunks[whose].items[chunk] : NULL;

	return entries ? entries + index % TALLY_ENTRIES * tally->size : NULL;
}

/* Finds or makes the entry of a site of the process. */
static inline void *tally_entry(struct tally *tally, uint32_t site)
{
	void *entry = tally_find(tally, TALLY_OF_PROCESS, site);

	return entry ? entry : tally_make(tally, TALLY_OF_PROCESS, site);
}

/*
 * Call it when the process has ended, before the address map is used for another process: finds the
 * call site of the run (place) for each site of the process, and merges the entries.
 */
void tallies_close(struct tallies *tallies, const struct sites *sites);

/* Returns the number of places of the run. */
static inline uint32_t tallies_count(const struct tallies *tallies)
{
	return (uint32_t)tallies->places.count;
}

static inline const struct tally_place *tallies_place(const struct tallies *tallies, uint32_t place)
{
	return &tallies->places.items[place];
}

/* Finds the entry of a place of the run. Returns NULL if it was not made. */
static inline void *tally_of_place(const struct tally *tally, uint32_t place)
{
	return tally_find(tally, TALLY_OF_RUN, place);
}

#endif
