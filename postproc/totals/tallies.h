/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_TALLIES_H
#define TOTALS_TALLIES_H

/*
 * Sums by call site. A report adds up its values for each site of the current process; when the
 * process has ended, its sites become places of the run, and the sums are merged into the sums of
 * the places. Memory grows with the number of distinct backtraces.
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
	const struct trace_node *backtrace; /* never NULL; count may be 0 */
	const char *function;		    /* of the first call */
	uint32_t next;			    /* index + 1 of another place with that backtrace */
	uint8_t class;			    /* ledger_class() */
	bool is_part;
};

#define TALLY_ENTRIES 256u /* in a chunk */

/*
 * The values of a report for each place. merge adds an entry of the process to an entry of the run;
 * both start as zeros.
 */
struct tally {
	size_t size; /* of an entry */
	void (*merge)(void *user, void *run, const void *process);
	void *user;
	/* of the process by site, of the run by place; NULL: no entry in it was made */
	ARRAY_OF(char *) chunks[2];
};

enum { TALLY_OF_PROCESS, TALLY_OF_RUN };

struct tallies {
	struct address_space *space;
	struct pool pool;
	struct pool_recent recent; /* names of functions */
	ARRAY_OF(struct tally_place) places;
	uint32_t *first; /* by number of a node of the address map: index + 1 of a place; 0: none */
	size_t first_count;
	struct tally list[LEDGER_LISTENERS +
			  4]; /* 4 more: the summary and leaks have tallies of their own */
	unsigned count;
};

void tallies_init(struct tallies *tallies, struct address_space *space);
void tallies_free(struct tallies *tallies);

/*
 * Call it before the first event; at most one for each possible listener. The tallies own the
 * result.
 */
struct tally *tallies_add(struct tallies *tallies, size_t size,
			  void (*merge)(void *user, void *run, const void *process), void *user);

/* The entry; makes it if it does not exist. */
void *tally_make(struct tally *tally, int whose, uint32_t index);

/* The entry; NULL: it was not made. */
static inline void *tally_find(const struct tally *tally, int whose, uint32_t index)
{
	uint32_t chunk = index / TALLY_ENTRIES;
	char *entries =
		chunk < tally->chunks[whose].count ? tally->chunks[whose].items[chunk] : NULL;

	return entries ? entries + index % TALLY_ENTRIES * tally->size : NULL;
}

/* The entry for a site of the process; makes it if it does not exist. */
static inline void *tally_entry(struct tally *tally, uint32_t site)
{
	void *entry = tally_find(tally, TALLY_OF_PROCESS, site);

	return entry ? entry : tally_make(tally, TALLY_OF_PROCESS, site);
}

/*
 * The process has ended: its sites become places of the run, and entries are merged. Call it before
 * the address map gets another process.
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

/* The entry for a place of the run; NULL: it was not made. */
static inline void *tally_of_place(const struct tally *tally, uint32_t place)
{
	return tally_find(tally, TALLY_OF_RUN, place);
}

#endif
