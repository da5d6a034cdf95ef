/* SPDX-License-Identifier: MIT */
#ifndef RANGES_H
#define RANGES_H

/*
 * Address ranges that may nest and overlap, each with an item (an index into a table of the
 * caller). After all ranges were added and sorted once, a search finds the innermost range that
 * contains an address. Ends the process if memory runs out (base/memory.h).
 */

#include <stddef.h>
#include <stdint.h>

struct range {
	uint64_t from, to; /* `to` is the first address after the range */
	uint64_t reach;	   /* maximum of `to` over this range and all ranges before it */
	uint32_t item;
	uint32_t rank; /* of equal ranges, a search returns the one with the highest rank */
};

struct ranges {
	struct range *items;
	size_t count, capacity;
};

/* Adds a range; an empty range is ignored. */
void ranges_add(struct ranges *ranges, uint64_t from, uint64_t to, uint32_t item, uint32_t rank);

/* Sorts the ranges. Call it after the last ranges_add() and before the first search. */
void ranges_sort(struct ranges *ranges);

/*
 * Of all ranges that contain the address, returns the one that begins last; if several begin there,
 * the smallest. NULL: no range contains it.
 */
const struct range *ranges_find(const struct ranges *ranges, uint64_t address);

/*
 * Returns the last range that begins at or before the address, even if it does not contain the
 * address. NULL: there is none.
 */
const struct range *ranges_before(const struct ranges *ranges, uint64_t address);

void ranges_free(struct ranges *ranges);

#endif
