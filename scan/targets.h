/* SPDX-License-Identifier: MIT */
#ifndef SCAN_TARGETS_H
#define SCAN_TARGETS_H

/*
 * Where blocks may lie: ranges of addresses, and whether a word leads into one of them. Asked of
 * every word of a process while it is stopped, so most words are refused by one comparison.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a program, in bits; what stands above are tags. */
#if defined(__x86_64__)
#define ADDRESS_BITS 47
#else
#define ADDRESS_BITS 48
#endif
#define ADDRESS_MAX ((1ull << ADDRESS_BITS) - 1)

struct range {
	uint64_t from, to;
};

/* Sorted, apart from each other. All 0 at first. */
struct ranges {
	struct range *items;
	size_t count, capacity;
};

/* Adds one in any place; ranges_settle() before anything is asked. */
void ranges_add(struct ranges *ranges, uint64_t from, uint64_t to);

/* Sorts, and makes one of those that touch or overlap. */
void ranges_settle(struct ranges *ranges);

void ranges_free(struct ranges *ranges);

/* The first range that ends behind address, or count. */
size_t ranges_after(const struct ranges *ranges, uint64_t address);

static inline bool ranges_have(const struct ranges *ranges, uint64_t address)
{
	size_t i = ranges_after(ranges, address);

	return i < ranges->count && ranges->items[i].from <= address;
}

/* What a word would point to without its tags; 0: it is no address. Pointers of the kernel, and
 * small negative numbers, are none. */
static inline uint64_t untagged(uint64_t word)
{
	if (word <= ADDRESS_MAX)
		return word;
	return word >> ADDRESS_BITS == UINT64_MAX >> ADDRESS_BITS ? 0 : word & ADDRESS_MAX;
}

#endif
