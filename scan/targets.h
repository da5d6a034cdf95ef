/* SPDX-License-Identifier: MIT */
#ifndef SCAN_TARGETS_H
#define SCAN_TARGETS_H

/*
 * Ranges of addresses, for example those that may contain blocks, and the conversion of a word to
 * an address. Every word of a stopped process is tested, so a single comparison must reject most
 * words.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Width of a program's addresses; higher bits are tags. */
#if defined(__x86_64__)
#define ADDRESS_BITS 47
#else
#define ADDRESS_BITS 48
#endif
#define ADDRESS_MAX ((1ull << ADDRESS_BITS) - 1)

struct range {
	uint64_t from, to;
};

/* Ranges in ascending order, without overlaps. All members are zero at first. */
struct ranges {
	struct range *items;
	size_t count, capacity;
};

/* Adds a range. The order does not matter, but call ranges_settle() before any search. */
void ranges_add(struct ranges *ranges, uint64_t from, uint64_t to);

/* Sorts the ranges and merges those that touch or overlap. */
void ranges_settle(struct ranges *ranges);

void ranges_free(struct ranges *ranges);

/* Returns the index of the first range that ends after `address`; `count` if there is none. */
size_t ranges_after(const struct ranges *ranges, uint64_t address);

static inline bool ranges_have(const struct ranges *ranges, uint64_t address)
{
	size_t i = ranges_after(ranges, address);

	return i < ranges->count && ranges->items[i].from <= address;
}

/*
 * Returns the address in a word, without its tags; 0: the word is not an address of the program,
 * but an address of the kernel or a small negative number.
 */
static inline uint64_t untagged(uint64_t word)
{
	if (word <= ADDRESS_MAX)
		return word;
	return word >> ADDRESS_BITS == UINT64_MAX >> ADDRESS_BITS ? 0 : word & ADDRESS_MAX;
}

#endif
