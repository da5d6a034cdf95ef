/* SPDX-License-Identifier: MIT */
#include "collect/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "contract.h"

#define KEPT_BYTES 8192u /* of a ring that is cleaned */

/* Sealed it stays as large as it is: nobody can make us read behind its end. */
static int seal(int fd, uint64_t size, struct error *err)
{
	struct stat st;

	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return error_system(err, errno, "a program's memory cannot be sealed");
	if (fstat(fd, &st) < 0)
		return error_system(err, errno, "a program's memory has no size");
	if ((uint64_t)st.st_size != size)
		return error_set(err, EBADMSG,
				 "a program's memory has %" PRId64 " bytes and not %" PRIu64,
				 (int64_t)st.st_size, size);
	return 0;
}

struct chunk *chunk_open(int fd, const struct arena_hello *hello, struct error *err)
{
	struct chunk *chunk;
	void *map;

	if (!chunk_is_sound(hello->slots, hello->ring_size, hello->spares)) {
		error_set(err, EBADMSG, "a program's memory has %u slots with rings of %u bytes",
			  hello->slots, hello->ring_size);
		return NULL;
	}
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk) {
		error_system(err, ENOMEM, "no memory for a program's memory");
		return NULL;
	}
	chunk->layout = chunk_lay_out(hello->slots, hello->ring_size, hello->spares);
	chunk->size = chunk->layout.size;
	if (seal(fd, chunk->size, err) < 0) {
		free(chunk);
		return NULL;
	}
	map = mmap(NULL, chunk->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (map == MAP_FAILED) {
		error_system(err, errno, "cannot map a program's memory");
		free(chunk);
		return NULL;
	}
	madvise(map, chunk->size, MADV_DONTDUMP);
	chunk->map = map;
	chunk->head = map;
	chunk->slot_base = chunk->map + ARENA_HEAD_SIZE;
	chunk->rings = chunk->map + chunk->layout.rings;
	chunk->slots = hello->slots;
	chunk->ring_size = hello->ring_size;
	chunk->spares = hello->spares;
	return chunk;
}

/* In the place before the first stands how many there are: all of them are counted from 1. */
static struct arena_spare *spare_place(const struct chunk *chunk, size_t place)
{
	return (struct arena_spare *)(void *)(chunk->map + chunk->layout.spares +
					      place * ARENA_SPARE_SIZE);
}

static struct arena_spare *spare_at(const struct chunk *chunk, uint32_t i)
{
	return spare_place(chunk, i + (size_t)1);
}

uint32_t chunk_spares_used(const struct chunk *chunk)
{
	uint32_t used;

	if (!chunk->spares)
		return 0;
	used = __atomic_load_n(&spare_place(chunk, 0)->used, __ATOMIC_ACQUIRE);
	return used < chunk->spares ? used : chunk->spares;
}

/* The family's chunk may be given back before: a mapping of its own for who lives on. */
static struct chunk *map_spare(const struct chunk *family, uint32_t i)
{
	struct chunk *chunk = calloc(1, sizeof(*chunk));
	void *map;

	if (!chunk)
		return NULL;
	map = mremap(family->map, 0, family->size, MREMAP_MAYMOVE);
	if (map == MAP_FAILED) {
		free(chunk);
		return NULL;
	}
	*chunk = *family;
	chunk->map = map;
	chunk->slots = 1;
	chunk->ring_size = ARENA_RING_LEAST;
	chunk->spare = spare_at(chunk, i);
	chunk->head = &chunk->spare->head;
	chunk->slot_base = chunk->map + chunk->layout.spare_slots + (size_t)i * ARENA_SLOT_SIZE;
	chunk->rings = chunk->map + chunk->layout.spare_rings + (size_t)i * ARENA_RING_LEAST;
	return chunk;
}

struct chunk *chunk_take_spare(const struct chunk *family, uint32_t i, struct arena_hello *hello)
{
	struct arena_spare *spare = spare_at(family, i);
	uint32_t expected = SPARE_READY;

	if (__atomic_load_n(&spare->state, __ATOMIC_RELAXED) != SPARE_READY ||
	    !__atomic_compare_exchange_n(&spare->state, &expected, SPARE_KNOWN, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return NULL;
	memcpy(hello, &spare->hello, sizeof(*hello));
	if (hello->contract != CONTRACT_HASH || hello->slots != 1 ||
	    hello->ring_size != ARENA_RING_LEAST || hello->spares)
		return NULL;
	return map_spare(family, i);
}

void chunk_close(struct chunk *chunk)
{
	if (!chunk)
		return;
	if (chunk->spare) {
		memset(chunk->slot_base, 0, sizeof(struct slot));
		memset(chunk->head, 0, sizeof(*chunk->head));
		madvise(chunk->rings, ARENA_RING_LEAST, MADV_REMOVE);
		__atomic_store_n(&chunk->spare->state, SPARE_FREE, __ATOMIC_RELEASE);
	}
	munmap(chunk->map, chunk->size);
	free(chunk);
}

uint32_t chunk_used(const struct chunk *chunk)
{
	uint32_t used = __atomic_load_n(&chunk->head->used, __ATOMIC_ACQUIRE);

	return used < chunk->slots ? used : chunk->slots;
}

void chunk_clean_ring(const struct chunk *chunk, uint32_t i, uint64_t position)
{
	char *ring = chunk_ring_at(chunk, i);
	size_t from = position & (chunk->ring_size - 1) & ~(size_t)4095;
	size_t to = from + KEPT_BYTES;

	if (from)
		madvise(ring, from, MADV_REMOVE);
	if (to < chunk->ring_size)
		madvise(ring + to, chunk->ring_size - to, MADV_REMOVE);
}
