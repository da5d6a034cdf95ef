/* SPDX-License-Identifier: MIT */
#ifndef BASE_TIMESORT_H
#define BASE_TIMESORT_H

/*
 * Pieces of bytes brought into the order of their times, more than fit memory. What comes nearly
 * in order costs next to nothing: only what is older than something before it is sorted, and each
 * full buffer goes to a temporary file as one sorted run. At the end the runs are merged.
 *
 *   at = timesort_reserve(&sort, most, err); ... timesort_commit(&sort, time, rank, size);
 *   timesort_finish(&sort, err); while (timesort_next(&sort, &piece, err) == 1) ...
 *
 * Pieces of one time stand by rank, then as they came.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/spool.h"

#define TIMESORT_BUFFER	  (32u << 20)
#define TIMESORT_RANK_MAX 3

struct timesort_entry {
	uint64_t time;
	uint32_t order; /* rank in the two highest bits, then which came first */
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
	struct timesort_list straight; /* came in order */
	struct timesort_list strays;   /* did not */
	size_t straight_at, strays_at; /* what was handed out of them */
	struct spool spool;
	ARRAY_OF(struct timesort_run) runs;
	struct timesort_run **heap; /* runs that have something, earliest first; NULL: no runs */
	size_t heap_count;
};

struct timesort_piece {
	uint64_t time;
	size_t size;
	char *bytes; /* until the next call; may be changed */
};

/* directory: where the temporary file is made; outlives it. limit: bytes in memory, 0: default. */
void timesort_init(struct timesort *sort, int directory, size_t limit);

/* Room for the next piece, of most bytes at most; NULL: no memory, or the disk is full. */
char *timesort_reserve(struct timesort *sort, size_t most, struct error *err);

/* The piece that timesort_reserve() made room for is size bytes. Returns 0 or -ENOMEM. */
int timesort_commit(struct timesort *sort, uint64_t time, unsigned rank, size_t size);

/* Nothing more comes. Returns 0 or a negative errno. */
int timesort_finish(struct timesort *sort, struct error *err);

/* The next piece. Returns 1, 0 behind the last one, or a negative errno. */
int timesort_next(struct timesort *sort, struct timesort_piece *piece, struct error *err);

void timesort_free(struct timesort *sort);

#endif
