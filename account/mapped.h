/* SPDX-License-Identifier: MIT */
#ifndef ACCOUNT_MAPPED_H
#define ACCOUNT_MAPPED_H

/*
 * What a process has mapped at the moment: ranges in order of their addresses that do not overlap.
 * A part of a mapping can be given back, or several at once; what is left stays with its item.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Twice what Linux allows a process. What is more is not followed. */
#define MAPPED_MAX 131072u

struct mapped_range {
	uint64_t start, end;
	uint32_t item; /* the user's */
};

struct mapped {
	struct mapped_range *items;
	size_t count, capacity;
};

/* What one step of mapped_cut() took. */
struct mapped_piece {
	uint32_t item;
	uint64_t bytes;
	uint64_t end; /* where it ended; behind it is another range if it was cut in two */
	int ranges;   /* more there are of that item: -1, 0 or, where it was cut in two, 1 */
};

void mapped_free(struct mapped *mapped);

/* A range where nothing is, and not empty. Returns 0, -ENOMEM or -E2BIG: it is left out. */
int mapped_add(struct mapped *mapped, uint64_t start, uint64_t end, uint32_t item);

/*
 * Takes the lowest piece of what is mapped between start and end. Returns 1; 0 if there is none;
 * -ENOMEM.
 */
int mapped_cut(struct mapped *mapped, uint64_t start, uint64_t end, struct mapped_piece *piece);

/* The range that begins there, or NULL. */
struct mapped_range *mapped_at(const struct mapped *mapped, uint64_t start);

/* Something is mapped between start and end. */
bool mapped_meets(const struct mapped *mapped, uint64_t start, uint64_t end);

#endif
