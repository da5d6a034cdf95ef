/* SPDX-License-Identifier: MIT */
#ifndef BASE_POOL_H
#define BASE_POOL_H

/*
 * An arena allocator, for many small pieces that are freed together. Its limit stops hostile input
 * before the machine runs out of memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_ALIGN  16u
#define POOL_RECENT 16u

struct pool_chunk;

struct pool {
	struct pool_chunk *chunks; /* list of the chunks, newest first */
	unsigned char *at;	   /* start of the free part of the newest chunk */
	size_t left;		   /* free bytes in this chunk, a multiple of POOL_ALIGN */
	uint64_t total;		   /* number of bytes allocated from the system */
	uint64_t limit;		   /* maximum of total; 0: none */
};

/* The slow path of pool_alloc(): the newest chunk has too few free bytes. */
void *pool_extend(struct pool *pool, size_t size);

/*
 * Counts memory that was allocated elsewhere towards the pool's limit. Returns false if the limit
 * would be exceeded.
 */
bool pool_charge(struct pool *pool, uint64_t size);

/*
 * Allocates `size` bytes, uninitialised and aligned for any type. Returns NULL if no memory is left
 * or the limit would be exceeded.
 */
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

/* Like pool_alloc(), but the bytes are zeroed. */
void *pool_zalloc(struct pool *pool, size_t size);

/* Copies a text and terminates it with NUL. */
char *pool_text(struct pool *pool, const char *text, size_t length);

/* Copies a whole text. Returns NULL if `text` is NULL. */
char *pool_copy(struct pool *pool, const char *text);

/* The texts copied last, so that a repeated text is stored once. Initialise with zeros. */
struct pool_recent {
	const char *texts[POOL_RECENT];
};

/* Like pool_text(), but returns an earlier copy of the same text if that copy is among `recent`. */
const char *pool_text_again(struct pool *pool, struct pool_recent *recent, const char *text);

/* Frees all pieces; keeps the newest chunk for reuse. */
void pool_reset(struct pool *pool);

void pool_free(struct pool *pool);

#endif
