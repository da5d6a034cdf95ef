/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_MAPPED_H
#define ACCOUNT_MAPPED_H

/*
 * The ranges that a process has mapped now, ordered by address, without overlaps. A part of a
 * range, or of several at once, can be unmapped; the rest keeps its item.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Twice Linux's default limit for a process. Further ranges are not followed. */
#define MAPPED_MAX 131072u

struct mapped_range {
	uint64_t start, end;
	uint32_t item; /* belongs to the caller */
};

struct mapped {
	struct mapped_range *items;
	size_t count, capacity;
};

/* The piece that one step of mapped_cut() removed. */
struct mapped_piece {
	uint32_t item;
	uint64_t bytes;
	uint64_t end; /* of the piece; of a range cut in two, the second half begins there */
	int ranges; /* change of the number of the item's ranges: -1, 0, or 1 if one was cut in two
		     */
};

void mapped_free(struct mapped *mapped);

/*
 * Adds a range, which is not empty and overlaps no other. Returns 0, -ENOMEM, or -E2BIG: there are
 * too many, and it was not added.
 */
int mapped_add(struct mapped *mapped, uint64_t start, uint64_t end, uint32_t item);

/*
 * Removes the lowest mapped piece between start and end. Returns 1; 0: nothing is mapped there;
 * -ENOMEM.
 */
int mapped_cut(struct mapped *mapped, uint64_t start, uint64_t end, struct mapped_piece *piece);

/* The range that begins at start, or NULL. */
struct mapped_range *mapped_at(const struct mapped *mapped, uint64_t start);

/* Whether something is mapped between start and end. */
bool mapped_meets(const struct mapped *mapped, uint64_t start, uint64_t end);

#endif
