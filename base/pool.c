/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

#define POOL_CHUNK (64u << 10)
#define POOL_ALIGN 16u

struct pool_chunk {
	struct pool_chunk *next;
	size_t size; /* of bytes */
	_Alignas(POOL_ALIGN) unsigned char bytes[];
};

static struct pool_chunk *pool_grow(struct pool *pool, size_t size)
{
	size_t wanted = size > POOL_CHUNK ? size : POOL_CHUNK;
	struct pool_chunk *chunk;

	/* Large pools take large chunks, so that their number stays small. */
	if (wanted < pool->total / 16 && pool->total < (256u << 20))
		wanted = pool->total / 16;
	if (pool->limit && (wanted > pool->limit || pool->total > pool->limit - wanted))
		return NULL;
	chunk = malloc(sizeof(*chunk) + wanted);
	if (!chunk)
		return NULL;
	chunk->size = wanted;
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	pool->used = 0;
	pool->total += wanted;
	return chunk;
}

void *pool_alloc(struct pool *pool, size_t size)
{
	struct pool_chunk *chunk = pool->chunks;
	void *piece;

	if (size > PTRDIFF_MAX - POOL_CHUNK)
		return NULL;
	size = (size + POOL_ALIGN - 1) & ~(size_t)(POOL_ALIGN - 1);
	if (!chunk || chunk->size - pool->used < size) {
		chunk = pool_grow(pool, size);
		if (!chunk)
			return NULL;
	}
	piece = chunk->bytes + pool->used;
	pool->used += size;
	return piece;
}

void *pool_zalloc(struct pool *pool, size_t size)
{
	void *piece = pool_alloc(pool, size);

	return piece ? memset(piece, 0, size) : NULL;
}

char *pool_text(struct pool *pool, const char *text, size_t length)
{
	char *copy = pool_alloc(pool, length + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

void pool_reset(struct pool *pool)
{
	struct pool_chunk *kept = pool->chunks;

	if (!kept)
		return;
	pool->chunks = kept->next;
	kept->next = NULL;
	pool_free(pool);
	pool->chunks = kept;
	pool->used = 0;
	pool->total = kept->size;
}

void pool_free(struct pool *pool)
{
	struct pool_chunk *chunk = pool->chunks;

	while (chunk) {
		struct pool_chunk *next = chunk->next;

		free(chunk);
		chunk = next;
	}
	pool->chunks = NULL;
	pool->used = 0;
	pool->total = 0;
}
