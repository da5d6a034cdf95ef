/* SPDX-License-Identifier: MIT */
#ifndef BASE_TIMESORT_H
#define BASE_TIMESORT_H

/*
 * Sorts pieces of bytes by time, more than fit into memory. Input that is nearly sorted costs next
 * to nothing: only pieces that are older than an earlier one are sorted, and each full buffer goes
 * to a temporary file as one sorted run. At the end the runs are merged.
 *
 *   at = timesort_reserve(&sort, most, err); ... timesort_commit(&sort, time, rank, size);
 *   timesort_finish(&sort, err); while (timesort_next(&sort, &piece, err) == 1) ...
 *
 * Pieces of equal time are ordered by rank, then by insertion.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/spill_file.h"

#define TIMESORT_BUFFER	  (32u << 20)
#define TIMESORT_RANK_MAX 3

struct timesort_entry {
	uint64_t time;
	uint32_t order; /* rank in the two highest bits, then the insertion number */
	uint32_t size;
	size_t offset; /* in the buffer */
};

struct timesort_list {
	struct timesort_entry *items;
	size_t count, capacity;
};

struct timesort_run;

struct timesort {
	char *buffer;
	size_t used, capacity, limit;
	struct timesort_list straight; /* pieces that came in order */
	struct timesort_list strays;   /* pieces that did not */
	size_t straight_at, strays_at; /* index of the next one to return */
	struct spill_file spill;
	ARRAY_OF(struct timesort_run) runs;
	struct timesort_run **heap; /* runs with pieces left, earliest first; NULL: none spilled */
	size_t heap_count;
};

struct timesort_piece {
	uint64_t time;
	size_t size;
	char *bytes; /* valid until the next call; may be modified */
};

/* directory: for the temporary file; must stay open. limit: bytes in memory; 0: the default. */
void timesort_init(struct timesort *sort, int directory, size_t limit);

/* A buffer for the next piece, of at most `most` bytes; NULL: no memory, or the disk is full. */
char *timesort_reserve(struct timesort *sort, size_t most, struct error *err);

/* Adds the piece of size bytes that is in the reserved buffer. Returns 0 or -ENOMEM. */
int timesort_commit(struct timesort *sort, uint64_t time, unsigned rank, size_t size);

/* Ends the input. Returns 0 or a negative errno. */
int timesort_finish(struct timesort *sort, struct error *err);

/* The next piece in order. Returns 1, 0 after the last one, or a negative errno. */
int timesort_next(struct timesort *sort, struct timesort_piece *piece, struct error *err);

void timesort_free(struct timesort *sort);

#endif
