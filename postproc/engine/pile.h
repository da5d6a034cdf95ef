/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_PILE_H
#define ENGINE_PILE_H

/*
 * Calls that are wanted once more, in their order: the newest in memory,
 * some kilobytes at most, the others in a temporary file.
 */

#include "base/error.h"
#include "base/spool.h"
#include "account/keep.h"

/* Empty at first: all 0. */
struct pile {
	unsigned char *bytes; /* of the newest calls */
	uint32_t size, capacity;
	uint64_t older; /* place in the file behind the chunk that is before them; 0: none */
};

/*
 * Adds a call; its arguments only if with_arguments. chunk: bytes of calls that may stay in
 * memory, so that many piles take no more than few. Returns 0 or a negative errno.
 */
int pile_add(struct pile *pile, struct spool *spool, size_t chunk, const struct event *event,
	     bool with_arguments, struct error *err);

/*
 * print is called for each call in order with kept, which lives until it returns. Returns 0, a
 * negative errno, or what print returned if that is not 0.
 */
int pile_each(const struct pile *pile, const struct spool *spool,
	      int (*print)(void *user, struct kept *kept), void *user, struct error *err);

void pile_free(struct pile *pile);

#endif
