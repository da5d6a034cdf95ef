/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_TALLIES_H
#define TOTALS_TALLIES_H

/*
 * What places of the program amount to. A report adds up what it wants to know of each site of the
 * process that is being read; when the process has ended, its sites become places of the run, and
 * what was added up is merged into theirs. Memory grows with distinct backtraces.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "naming/atlas.h"

/* A place of the run: what it gained is of one class, with one backtrace, in any process. */
struct tally_place {
	const struct trace_node *backtrace; /* never NULL; count may be 0 */
	const char *function;		    /* of the first call */
	uint32_t next;			    /* index + 1 of another one with that backtrace */
	uint8_t class;			    /* ledger_class() */
	bool is_part;
};

#define TALLY_ENTRIES 256u /* of a chunk */

/*
 * What a report adds up for each place. merge adds what a process has to what the run has; both
 * begin as zeros.
 */
struct tally {
	size_t size; /* of an entry */
	void (*merge)(void *user, void *run, const void *process);
	void *user;
	/* of the process by site, of the run by place; NULL: nothing in it was asked for */
	ARRAY_OF(char *) chunks[2];
};

enum { TALLY_OF_PROCESS, TALLY_OF_RUN };

struct tallies {
	struct atlas *atlas;
	struct pool pool;
	struct pool_recent recent; /* names of functions */
	ARRAY_OF(struct tally_place) places;
	uint32_t *first; /* by number of a node of the atlas: index + 1 of a place; 0: none */
	size_t first_count;
	struct tally list[LEDGER_LISTENERS + 4]; /* the summary and leaks have some of their own */
	unsigned count;
};

void tallies_init(struct tallies *tallies, struct atlas *atlas);
void tallies_free(struct tallies *tallies);

/* Before the first event; at most as many as there may be listeners. The tallies own it. */
struct tally *tallies_add(struct tallies *tallies, size_t size,
			  void (*merge)(void *user, void *run, const void *process), void *user);

/* An entry that may have to be made. */
void *tally_make(struct tally *tally, int whose, uint32_t index);

/* One that was made; NULL: it was not. */
static inline void *tally_find(const struct tally *tally, int whose, uint32_t index)
{
	uint32_t chunk = index / TALLY_ENTRIES;
	char *entries =
		chunk < tally->chunks[whose].count ? tally->chunks[whose].items[chunk] : NULL;

	return entries ? entries + index % TALLY_ENTRIES * tally->size : NULL;
}

/* The entry of a site of the process. */
static inline void *tally_entry(struct tally *tally, uint32_t site)
{
	void *entry = tally_find(tally, TALLY_OF_PROCESS, site);

	return entry ? entry : tally_make(tally, TALLY_OF_PROCESS, site);
}

/*
 * The process has ended: its sites become places of the run, and entries are merged. To be called
 * before the atlas hears of another process. Returns 0.
 */
void tallies_close(struct tallies *tallies, const struct sites *sites);

/* Places of the run, from 0. */
static inline uint32_t tallies_count(const struct tallies *tallies)
{
	return (uint32_t)tallies->places.count;
}

static inline const struct tally_place *tallies_place(const struct tallies *tallies, uint32_t place)
{
	return &tallies->places.items[place];
}

/* The entry of a place of the run; NULL: none was made. */
static inline void *tally_of_place(const struct tally *tally, uint32_t place)
{
	return tally_find(tally, TALLY_OF_RUN, place);
}

#endif
