/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_CHUNK_H
#define COLLECT_CHUNK_H

/*
 * A piece of a process's memory as the collector has it. Where everything lies is known from the
 * message that came with it, checked once; what stands in it may change at any time.
 */

#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "base/error.h"

struct chunk {
	struct chunk *next, **at; /* of all that are mapped; where its address stands */
	char *map;
	size_t size;   /* mapped bytes: the chunk, and the link to the next one if there is one */
	uint64_t left; /* bytes of the file from the chunk on */
	struct arena *head;
	char *slot_base, *rings;
	uint32_t slots, ring_size;
	/* of a first chunk: places for the children of a process in a jail */
	struct chunk_layout layout;
	uint32_t spares;
	volatile bool is_lost;	   /* the system could not bring a page, and it is empty since */
	struct arena_spare *spare; /* it is one: to be given back; NULL: it is none */
};

/* From here on a chunk whose memory cannot be read any more (SIGBUS) is damaged, and no more. */
void chunk_survive_losses(void);

/*
 * Seals the memory, so that it stays as large as it is, and maps it. The descriptor stays the
 * caller's. Refuses what is not as the message says. NULL then.
 */
struct chunk *chunk_open(int fd, const struct arena_hello *hello, struct error *err);

/*
 * The next chunk in the process's file. NULL without a text in err: there is none yet, and the
 * further memory of the process is a spare.
 */
struct chunk *chunk_next(const struct chunk *last, struct error *err);

/*
 * The spare that somebody has taken of this chunk, with what he says of himself copied to hello.
 * NULL: nobody has, or it makes no sense.
 */
struct chunk *chunk_take_spare(const struct chunk *family, uint32_t i, struct arena_hello *hello);

/* How many spares of it have ever been taken. */
uint32_t chunk_spares_used(const struct chunk *chunk);

/* Gives it back: a spare is as new for the next one. */
void chunk_close(struct chunk *chunk);

/* How many of its slots may be in use. */
uint32_t chunk_used(const struct chunk *chunk);

/* Gives the pages of a ring back to the system but for those that the next record may be in. */
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
