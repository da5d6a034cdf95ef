/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/hash_table.h"

#define POOL_CHUNK (64u << 10)
#define ALIKE	   4u /* recent texts that each hash bucket remembers, newest first */

struct pool_chunk {
	struct pool_chunk *next;
	size_t size; /* size of `bytes`, a multiple of POOL_ALIGN */
	_Alignas(POOL_ALIGN) unsigned char bytes[];
};

static void pool_begin(struct pool *pool)
{
	pool->at = pool->chunks->bytes;
	pool->left = pool->chunks->size;
}

void *pool_extend(struct pool *pool, size_t size)
{
	size_t wanted = size > POOL_CHUNK ? size : POOL_CHUNK;
	struct pool_chunk *chunk;

	if (size > PTRDIFF_MAX - POOL_CHUNK)
		return NULL;
	/* The chunk size grows with the pool, so that the number of chunks stays small. */
	if (wanted < pool->total / 16 && pool->total < (256u << 20))
		wanted = pool->total / 16;
	wanted = (wanted + POOL_ALIGN - 1) & ~(size_t)(POOL_ALIGN - 1);
	if (!pool_charge(pool, wanted))
		return NULL;
	chunk = memory_alloc(sizeof(*chunk) + wanted);
	if (!chunk)
		return NULL;
	chunk->size = wanted;
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	pool_begin(pool);
	return pool_alloc(pool, size);
}

bool pool_charge(struct pool *pool, uint64_t size)
{
	if (pool->limit && (size > pool->limit || pool->total > pool->limit - size))
		return false;
	pool->total += size;
	return true;
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

char *pool_copy(struct pool *pool, const char *text)
{
	return text ? pool_text(pool, text, strlen(text)) : NULL;
}

const char *pool_text_again(struct pool *pool, struct pool_recent *recent, const char *text)
{
	size_t length = strlen(text);
	const char **texts =
		&recent->texts[hash_bytes(0, text, length) % (POOL_RECENT / ALIKE) * ALIKE];

	for (unsigned i = 0; i < ALIKE && texts[i]; i++)
		if (!strcmp(texts[i], text))
			return texts[i];
	memmove(texts + 1, texts, (ALIKE - 1) * sizeof(*texts));
	texts[0] = pool_text(pool, text, length);
	return texts[0];
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
	pool->total = kept->size;
	pool_begin(pool);
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
	pool->at = NULL;
	pool->left = 0;
	pool->total = 0;
}
