/* SPDX-License-Identifier: MIT */
#ifndef BASE_POOL_H
#define BASE_POOL_H

/*
 * An arena allocator: many small pieces that are all freed together. A limit makes hostile input
 * fail before the machine does.
 */

#include <stddef.h>
#include <stdint.h>

struct pool_chunk;

struct pool {
	struct pool_chunk *chunks; /* newest first */
	size_t used;		   /* bytes of the newest one */
	uint64_t total;		   /* bytes got from the system */
	uint64_t limit;		   /* most of them; 0: none */
};

/* size bytes aligned for any type, not set; NULL: no memory, or over the limit. */
void *pool_alloc(struct pool *pool, size_t size);

/* As pool_alloc(), all zero. */
void *pool_zalloc(struct pool *pool, size_t size);

/* A copy with a NUL behind it. */
char *pool_text(struct pool *pool, const char *text, size_t length);

/* Everything is given back at once; the newest chunk is kept for use again. */
void pool_reset(struct pool *pool);

void pool_free(struct pool *pool);

#endif
