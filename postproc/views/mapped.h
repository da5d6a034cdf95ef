/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_MAPPED_H
#define VIEWS_MAPPED_H

/*
 * What a process has mapped at the moment: ranges in order of their addresses that do not overlap.
 * A part of a mapping can be given back, or several at once; what is left stays with its site.
 */

#include <stddef.h>
#include <stdint.h>

/* Twice what Linux allows a process. What is more is not followed. */
#define MAPPED_MAX 131072u

struct mapped_range {
	uint64_t start, end;
	uint32_t site;
};

struct mapped {
	struct mapped_range *items;
	size_t count, capacity;
};

/* What one step of mapped_cut() took. */
struct mapped_piece {
	uint32_t site;
	uint64_t bytes;
	int ranges; /* more there are of that site: -1, 0 or, where it was cut in two, 1 */
};

void mapped_free(struct mapped *mapped);

/* A range where nothing is. An empty one, or one too many, is left out. Returns 0 or -ENOMEM. */
int mapped_add(struct mapped *mapped, uint64_t start, uint64_t end, uint32_t site);

/*
 * Takes the lowest piece of what is mapped between start and end. Returns 1; 0 if there is none;
 * -ENOMEM.
 */
int mapped_cut(struct mapped *mapped, uint64_t start, uint64_t end, struct mapped_piece *piece);

/* Where the range ends that begins there; start itself: none does. */
uint64_t mapped_end(const struct mapped *mapped, uint64_t start);

#endif
