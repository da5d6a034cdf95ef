/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_MAPPED_H
#define ACCOUNT_MAPPED_H

/*
 * The ranges that a process has mapped now, ordered by address, without overlaps. Any address range
 * can be removed, even if it covers only parts of ranges. The remaining parts of a mapped range
 * keep the item (a number of the caller) of that range.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "before_kinds.h"
#include "trace/event.h"

/* Twice Linux's default limit of mappings per process. mapped_add() refuses further ranges. */
#define MAPPED_MAX 131072u

struct mapped_range {
	uint64_t start, end;
	uint32_t item; /* for the caller's use */
};

struct mapped {
	struct mapped_range *items;
	size_t count, capacity;
};

/* A piece that one call to mapped_cut() removed. */
struct mapped_piece {
	uint32_t item;
	uint64_t bytes;
	uint64_t end; /* end of the piece; the range's second half, if any, begins here */
	int ranges;   /* change of the number of ranges: -1, 0 or 1 */
};

void mapped_free(struct mapped *mapped);

/*
 * Adds a range, which must not be empty and must not overlap another range. Returns false if there
 * are MAPPED_MAX ranges already.
 */
bool mapped_add(struct mapped *mapped, uint64_t start, uint64_t end, uint32_t item);

/*
 * Removes the mapped piece with the lowest address between `start` and `end`. Returns false if
 * nothing is mapped there.
 */
bool mapped_cut(struct mapped *mapped, uint64_t start, uint64_t end, struct mapped_piece *piece);

/* The range that begins at `start`, or NULL. */
struct mapped_range *mapped_at(const struct mapped *mapped, uint64_t start);

/* True if any byte between `start` and `end` is mapped. */
bool mapped_meets(const struct mapped *mapped, uint64_t start, uint64_t end);

/*
 * The ranges that a process had mapped when the recording attached to it, as listed by its ~mapped
 * notes, and the number of their bytes that have been unmapped or freed since.
 */

struct before_sum {
	uint64_t ranges, bytes; /* number and total size of the ranges at the attach */
	uint64_t lost;		/* bytes of these ranges that calls have unmapped or freed since */
};

struct before {
	struct before_sum sums[BEFORE_KINDS];
	uint64_t calls;	      /* number of calls that unmapped or freed a part of these ranges */
	struct mapped mapped; /* ranges that are still mapped; item: enum before_kind */
};

void before_add(struct before *before, const struct event *note);

/*
 * Removes the bytes from `start` to `end`. is_loss: true if a call unmapped or freed them; false if
 * a new mapping replaced them.
 */
void before_cut(struct before *before, uint64_t start, uint64_t end, bool is_loss);

void before_add_up(struct before_sum *sum, const struct before_sum *part);

/* The sum of the ranges that are not heap, arena or stack. */
struct before_sum before_mappings(const struct before_sum *sums);

/*
 * The heap and the arenas of libc's allocator. The allocator's large blocks are separate mappings
 * and are not included.
 */
struct before_sum before_heap(const struct before_sum *sums);

void before_free(struct before *before);

#endif
