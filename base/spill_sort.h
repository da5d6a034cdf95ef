/* SPDX-License-Identifier: MIT */
#ifndef BASE_SPILL_SORT_H
#define BASE_SPILL_SORT_H

/*
 * Sorts pieces of bytes whose total size may exceed the available memory. Nearly sorted input is
 * cheap: only pieces that arrive out of order are sorted. Each full buffer is written to a spill
 * file as one sorted run, and the runs are merged at the end. If the spill file fails,
 * spill_sort_finish() or spill_sort_next() returns the error.
 *
 *   at = spill_sort_reserve(&sort, most); ... spill_sort_commit(&sort, key, size);
 *   spill_sort_finish(&sort, err); while (spill_sort_next(&sort, &piece, err) == 1) ...
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "base/spill_file.h"

#define SPILL_SORT_BUFFER (32u << 20)

/* The key of a piece. Pieces with equal keys stay in the order in which they were added. */
struct spill_key {
	uint64_t first, second, third;
};

struct spill_entry {
	struct spill_key key;
	size_t offset, size; /* position of the piece in the buffer */
};

struct spill_list {
	struct spill_entry *items;
	size_t count, capacity;
};

struct spill_run;

struct spill_sort {
	char *buffer;
	size_t used, capacity, limit;
	struct spill_list straight;    /* pieces that arrived in order */
	struct spill_list strays;      /* pieces that arrived out of order */
	size_t straight_at, strays_at; /* index of the next piece to return */
	struct spill_file spill;
	ARRAY_OF(struct spill_run) runs;
	/*
	 * heap of the runs that have pieces left, ordered by the key of each run's next piece; NULL
	 * if no buffer was spilled
	 */
	struct spill_run **heap;
	size_t heap_count;
};

struct spill_piece {
	struct spill_key key;
	size_t size;
	char *bytes; /* valid until the next spill_sort_next(); may be modified */
};

/* directory: see spill_init(). limit: maximum size of the buffer in bytes; 0: SPILL_SORT_BUFFER. */
void spill_sort_init(struct spill_sort *sort, int directory, size_t limit);

/* Returns a buffer for the next piece, which may have at most `most` bytes. */
char *spill_sort_reserve(struct spill_sort *sort, size_t most);

/* Adds the piece that the caller has written to the reserved buffer. */
void spill_sort_commit(struct spill_sort *sort, struct spill_key key, size_t size);

/* Ends the input. Returns 0 or a negative errno. */
int spill_sort_finish(struct spill_sort *sort, struct error *err);

/*
 * Reads the next piece in order. Returns 1 and sets *piece; returns 0 after the last piece, or a
 * negative errno.
 */
int spill_sort_next(struct spill_sort *sort, struct spill_piece *piece, struct error *err);

void spill_sort_free(struct spill_sort *sort);

#endif
