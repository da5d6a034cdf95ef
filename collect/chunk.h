/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_CHUNK_H
#define COLLECT_CHUNK_H

/*
 * A chunk of a process's arena (the memory that it shares with the collector), as the collector
 * maps the chunk. The collector has checked the layout, which the process sent in a message. The
 * process may change the contents at any time.
 */

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "base/error.h"

struct chunk {
	/* links of the list of all mapped chunks; *at points to this chunk */
	struct chunk *next, **at;
	char *map;
	/* mapped bytes: the chunk, and the link to the next chunk if the file has room for it */
	size_t size;
	/* bytes from the start of this chunk to the end of the file */
	uint64_t left;
	struct arena *head;
	char *slot_base, *rings;
	uint32_t slots, ring_size;
	struct chunk_layout layout;
	/* number of spares (slots for children that cannot create memory) in a first chunk */
	uint32_t spares;
	/* a page could not be read (SIGBUS), and empty pages have replaced the chunk */
	volatile bool is_lost;
	/* if this chunk is a spare: the spare, which chunk_close() releases; NULL otherwise */
	struct arena_spare *spare;
};

/* Handles SIGBUS: from now on, a page that cannot be read only marks its chunk as lost. */
void chunk_survive_losses(void);

/*
 * Seals the size of a process's shared memory `fd` and maps its first chunk. The caller keeps the
 * descriptor. Returns NULL, with the reason in err, if the memory does not have the properties that
 * the message `hello` states.
 */
struct chunk *chunk_open(int fd, const struct arena_hello *hello, struct error *err);

/*
 * Maps the next chunk of the process's file. Returns NULL on failure, with an error text. The text
 * is empty if there is no next chunk yet, or `last` is a spare, which never has a next chunk.
 */
struct chunk *chunk_next(const struct chunk *last, struct error *err);

/*
 * Opens spare `i` of the chunk `family`, if a process has taken it, and copies to `hello` how that
 * process describes itself. Returns NULL if no process has taken the spare, or if the description
 * is not sound.
 */
struct chunk *chunk_take_spare(const struct chunk *family, uint32_t i, struct arena_hello *hello);

/* Returns how many of the chunk's spares processes have ever taken. */
uint32_t chunk_spares_used(const struct chunk *chunk);

/* Unmaps the chunk. If it is a spare, clears it for the next process. */
void chunk_close(struct chunk *chunk);

/* Returns 1 plus the index of the highest slot of the chunk that a thread has ever taken. */
uint32_t chunk_used(const struct chunk *chunk);

/* Frees the pages of ring `i`, except those at `position`, where the next record begins. */
void chunk_clean_ring(const struct chunk *chunk, uint32_t i, uint64_t position);

static inline struct slot *chunk_slot_at(const struct chunk *chunk, uint32_t i)
{
	return (struct slot *)(void *)(chunk->slot_base + (size_t)i * ARENA_SLOT_SIZE);
}

static inline char *chunk_ring_at(const struct chunk *chunk, uint32_t i)
{
	return chunk->rings + (size_t)i * chunk->ring_size;
}

#endif
