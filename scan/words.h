/* SPDX-License-Identifier: MIT */
#ifndef SCAN_WORDS_H
#define SCAN_WORDS_H

/*
 * The words of a process's memory that may be addresses of its blocks, and where they stood: all
 * that is kept of it, since the process goes on before anybody knows its blocks.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "scan/targets.h"

#define WORDS_PAGE 4096u

struct words_page {
	uint64_t bits[WORDS_PAGE / 8 / 64]; /* of the words that are kept */
	uint64_t first;			    /* index of the first one's value */
};

/* Pages without a gap. */
struct words_run {
	uint64_t from, to;
	size_t first; /* page */
};

struct words {
	ARRAY_OF(struct words_run) runs; /* by address */
	ARRAY_OF(struct words_page) pages;
	ARRAY_OF(uint64_t) values;
};

/*
 * Takes what of size bytes at address (both multiples of WORDS_PAGE) leads into targets. Addresses
 * come in order.
 */
void words_add(struct words *words, const struct ranges *targets, uint64_t address,
	       const void *bytes, size_t size);

void words_free(struct words *words);

/* The word at an address, which is a multiple of 8; 0: none was kept there. */
uint64_t words_at(const struct words *words, uint64_t address);

/* A walk over the words of a range of addresses. */
struct words_walk {
	const struct words *words;
	size_t run;
	uint64_t at, to; /* the next address; the end */
};

struct words_walk words_begin(const struct words *words, uint64_t from, uint64_t to);

/* The next word. False: there is none. */
bool words_next(struct words_walk *walk, uint64_t *address, uint64_t *value);

#endif
