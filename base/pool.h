/* SPDX-License-Identifier: MIT */
#ifndef BASE_POOL_H
#define BASE_POOL_H

/*
 * An arena allocator: many small pieces that are all freed together. A limit makes hostile input
 * fail before the machine does.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_ALIGN  16u
#define POOL_RECENT 16u

struct pool_chunk;

struct pool {
	struct pool_chunk *chunks; /* newest first */
	unsigned char *at;	   /* what is free of the newest one: */
	size_t left;		   /* a multiple of POOL_ALIGN */
	uint64_t total;		   /* bytes got from the system */
	uint64_t limit;		   /* most of them; 0: none */
};

/* pool_alloc() where the newest chunk has no room. */
void *pool_extend(struct pool *pool, size_t size);

/* Bytes that were got elsewhere count as the pool's; false: over the limit. */
bool pool_charge(struct pool *pool, uint64_t size);

/* size bytes aligned for any type, not set; NULL: no memory, or over the limit. */
static inline void *pool_alloc(struct pool *pool, size_t size)
{
	unsigned char *piece = pool->at;

	if (size > pool->left || !piece)
		return pool_extend(pool, size);
	size = (size + POOL_ALIGN - 1) & ~(size_t)(POOL_ALIGN - 1);
	pool->at += size;
	pool->left -= size;
	return piece;
}

/* As pool_alloc(), all zero. */
void *pool_zalloc(struct pool *pool, size_t size);

/* A copy with a NUL behind it. */
char *pool_text(struct pool *pool, const char *text, size_t length);

/* The last copies, for texts most of which are one of a few. All zero at first. */
struct pool_recent {
	const char *texts[POOL_RECENT];
};

/* As pool_text(), but the copy of before where that is still remembered. */
const char *pool_text_again(struct pool *pool, struct pool_recent *recent, const char *text);

/* Everything is given back at once; the newest chunk is kept for use again. */
void pool_reset(struct pool *pool);

void pool_free(struct pool *pool);

#endif
