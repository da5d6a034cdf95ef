/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_HELD_H
#define VIEWS_HELD_H

/*
 * What a process holds at the moment: a hash table of (class, object), its items in place, since
 * it is asked twice for every allocation of a program. 24 bytes an item, at most three quarters
 * full.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELD_COUNT_MAX 0xffffffu
#define HELD_CLASSES   256u

struct held {
	uint64_t object;
	union {			 /* which one, the class tells its user */
		uint64_t size;	 /* bytes */
		uint64_t thread; /* kernel's id of who gained it */
		char *example;	 /* what it is, to be freed by the user; or NULL */
	};
	uint32_t site;
	uint32_t class : 8;
	uint32_t count : 24; /* times it was gained and not yet lost; 0: a free item */
};

struct held_table {
	struct held *items; /* NULL until the first one */
	size_t mask, count;
	uint64_t seed;
};

void held_init(struct held_table *table);
void held_free(struct held_table *table);

/* NULL if it is not held. */
struct held *held_find(const struct held_table *table, uint32_t class, uint64_t object);

/*
 * A new item for an object that is not in the table; count is 1, the rest is 0. NULL: no memory.
 * Pointers from before are void.
 */
struct held *held_add(struct held_table *table, uint32_t class, uint64_t object);

/* Takes an item out. Pointers from before are void. */
void held_remove(struct held_table *table, struct held *held);

/* The next item behind *at (0 at first), in no order; NULL after the last. */
struct held *held_next(const struct held_table *table, size_t *at);

#endif
