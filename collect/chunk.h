/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_CHUNK_H
#define COLLECT_CHUNK_H

/*
 * A chunk of a process's arena, as the collector maps it. The layout comes from the message that
 * the process sent with it and was checked once; the contents may change at any time.
 */

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "base/error.h"

struct chunk {
	/* in the list of all mapped chunks; the pointer that points here */
	struct chunk *next, **at;
	char *map;
	/* mapped bytes: the chunk, and the link to the next one if there is room for a next one */
	size_t size;
	uint64_t left; /* bytes of the file from the start of the chunk on */
	struct arena *head;
	char *slot_base, *rings;
	uint32_t slots, ring_size;
	/*
	 * of a first chunk: the spare slots for children that can make no memory (sandboxed
	 * processes)
	 */
	struct chunk_layout layout;
	uint32_t spares;
	/* a page could not be read (SIGBUS); empty pages have replaced it */
	volatile bool is_lost;
	/* the spare that this chunk is, to be released at the end; NULL: not a spare */
	struct arena_spare *spare;
};

/*
 * From now on, memory of a chunk that can no longer be read (SIGBUS) only marks the chunk as
 * damaged and does not end the collector.
 */
void chunk_survive_losses(void);

/*
 * Seals the size of the memory and maps it. The caller keeps the descriptor. Returns NULL if the
 * memory is not as the message says.
 */
struct chunk *chunk_open(int fd, const struct arena_hello *hello, struct error *err);

/*
 * Maps the next chunk of the process's file. NULL without a text in err: there is none yet, or the
 * chunk is a spare, which has none.
 */
struct chunk *chunk_next(const struct chunk *last, struct error *err);

/*
 * Opens spare i of this chunk, if a process has taken it, and copies what the process says about
 * itself to hello. NULL: not taken, or hello does not make sense.
 */
struct chunk *chunk_take_spare(const struct chunk *family, uint32_t i, struct arena_hello *hello);

/* How many spares of the chunk were ever taken. */
uint32_t chunk_spares_used(const struct chunk *chunk);

/* Unmaps the chunk. A spare is cleared for the next process. */
void chunk_close(struct chunk *chunk);

/* How many of its slots may be in use. */
uint32_t chunk_used(const struct chunk *chunk);

/* Returns the pages of a ring to the system, except those that the next record may touch. */
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
