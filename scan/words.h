/* SPDX-License-Identifier: MIT */
#ifndef SCAN_WORDS_H
#define SCAN_WORDS_H

/*
 * The words of a process's memory that may be addresses of blocks, with their positions. Other
 * memory is not kept. The words are collected before the blocks are known, because the process has
 * to continue. Every word of a stopped process is tested, so a single comparison must reject most
 * words.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

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
 * Returns the address in a word, without its tags; 0: the word is an address of the kernel or a
 * small negative number.
 */
static inline uint64_t untagged(uint64_t word)
{
	if (word <= ADDRESS_MAX)
		return word;
	return word >> ADDRESS_BITS == UINT64_MAX >> ADDRESS_BITS ? 0 : word & ADDRESS_MAX;
}

#define WORDS_PAGE 4096u

struct words_page {
	uint64_t bits[WORDS_PAGE / 8 / 64]; /* one bit for each word: whether it is kept */
	uint64_t first;			    /* index of the value of the page's first kept word */
};

/* A run of contiguous pages. */
struct words_run {
	uint64_t from, to;
	size_t first; /* index of the run's first page */
};

struct words {
	ARRAY_OF(struct words_run) runs; /* sorted by address */
	ARRAY_OF(struct words_page) pages;
	ARRAY_OF(uint64_t) values;
};

/*
 * Stores the words in `bytes` that are addresses in `targets`. `bytes` has `size` bytes, which were
 * read at `address`; both numbers are multiples of WORDS_PAGE. Call it with ascending addresses.
 */
void words_add(struct words *words, const struct ranges *targets, uint64_t address,
	       const void *bytes, size_t size);

void words_free(struct words *words);

/* Returns the word at an address, which is a multiple of 8; 0: no word is kept there. */
uint64_t words_at(const struct words *words, uint64_t address);

/* Iterates over the kept words of an address range. */
struct words_walk {
	const struct words *words;
	size_t run;
	uint64_t at, to; /* at: the next address; to: the end of the range */
};

struct words_walk words_begin(const struct words *words, uint64_t from, uint64_t to);

/* Returns the next kept word and its address. Returns false after the last one. */
bool words_next(struct words_walk *walk, uint64_t *address, uint64_t *value);

#endif
