/* SPDX-License-Identifier: MIT */
#include "collect/chunk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "contract.h"

/* chunk_clean_ring() keeps this many bytes of a ring, beginning with the page of `position` */
#define KEPT_BYTES 8192u

/*
 * Seals the size of the file, so that no process can make the collector read beyond its end.
 * Accepts only memory whose pages are always readable: a memfd on tmpfs. Refuses a memfd with huge
 * pages (MFD_HUGETLB), since these can run out. Checks for seals first: fstatfs() of a descriptor
 * on another file system may never return.
 */
static int seal_memory(int fd, uint64_t *size, struct error *err)
{
	struct statfs system;
	struct stat st;

	if (fcntl(fd, F_GET_SEALS) < 0)
		return error_set(err, EBADMSG, "its shared memory is not a memfd");
	if (fstatfs(fd, &system) < 0)
		return error_system(err, errno, "cannot find the file system of its shared memory");
	if (system.f_type != TMPFS_MAGIC || system.f_bsize != sysconf(_SC_PAGESIZE))
		return error_set(err, EBADMSG,
				 "its shared memory has pages of %ld bytes instead of normal pages",
				 (long)system.f_bsize);
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return error_system(err, errno, "cannot seal its shared memory");
	if (fstat(fd, &st) < 0)
		return error_system(err, errno, "cannot find the size of its shared memory");
	*size = (uint64_t)st.st_size;
	return 0;
}

/* ---- memory that cannot be read ---- */

/*
 * All mapped chunks. The kernel may fail to provide a page of a chunk (no memory left, a bad page
 * of a swap file). Then replace_lost() replaces the whole chunk with empty memory: the collector
 * finds damage in this chunk and continues with all others. Only one thread reads chunks and
 * changes this list.
 */
static struct chunk *mapped;

static void replace_lost(int number, siginfo_t *info, void *context)
{
	const char *at = info->si_addr;

	(void)context;
	for (struct chunk *chunk = mapped; chunk; chunk = chunk->next)
		if (at >= chunk->map && at < chunk->map + chunk->size &&
		    mmap(chunk->map, chunk->size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			 0) != MAP_FAILED) {
			chunk->is_lost = true;
			return;
		}
	/* the address is in no chunk: the next access ends the collector (the default action) */
	signal(number, SIG_DFL);
}

void chunk_survive_losses(void)
{
	struct sigaction action = { .sa_sigaction = replace_lost, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &action, NULL);
}

static void add_mapped(struct chunk *chunk)
{
	chunk->next = mapped;
	chunk->at = &mapped;
	if (mapped)
		mapped->at = &chunk->next;
	mapped = chunk;
}

/*
 * Allocates a chunk. left: bytes from the chunk's start to the end of the file. Returns NULL if the
 * layout is invalid or needs more bytes.
 */
static struct chunk *allocate_chunk(uint32_t slots, uint32_t ring_size, uint32_t spares,
				    uint64_t left, struct error *err)
{
	struct chunk *chunk;

	if (!chunk_is_sound(slots, ring_size, spares)) {
		error_set(
			err, EBADMSG,
			"its shared memory has an invalid layout: %u slots with rings of %u bytes",
			slots, ring_size);
		return NULL;
	}
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk) {
		error_system(err, ENOMEM, "cannot map its shared memory");
		return NULL;
	}
	chunk->layout = chunk_lay_out(slots, ring_size, spares);
	chunk->slots = slots;
	chunk->ring_size = ring_size;
	chunk->spares = spares;
	chunk->left = left;
	chunk->size =
		chunk->layout.size + ARENA_LINK < left ? chunk->layout.size + ARENA_LINK : left;
	if (left >= chunk->layout.size)
		return chunk;
	error_set(err, EBADMSG,
		  "its shared memory has %" PRIu64 " bytes, and its layout needs %" PRIu64, left,
		  chunk->layout.size);
	free(chunk);
	return NULL;
}

static struct chunk *set_places(struct chunk *chunk, void *map, struct error *err)
{
	if (map == MAP_FAILED) {
		error_system(err, errno, "cannot map its shared memory");
		free(chunk);
		return NULL;
	}
	madvise(map, chunk->size, MADV_DONTDUMP);
	chunk->map = map;
	chunk->head = map;
	chunk->slot_base = chunk->map + ARENA_HEAD_SIZE;
	chunk->rings = chunk->map + chunk->layout.rings;
	add_mapped(chunk);
	return chunk;
}

struct chunk *chunk_open(int fd, const struct arena_hello *hello, struct error *err)
{
	struct chunk *chunk;
	uint64_t size = 0;

	if (seal_memory(fd, &size, err) < 0)
		return NULL;
	chunk = allocate_chunk(hello->slots, hello->ring_size, hello->spares, size, err);
	return chunk ? set_places(chunk,
				  mmap(NULL, chunk->size, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_NORESERVE, fd, 0),
				  err)
		     : NULL;
}

struct chunk *chunk_next(const struct chunk *last, struct error *err)
{
	char *link = last->map + last->layout.size;
	const struct arena *head = (const struct arena *)(void *)link;
	struct chunk *chunk;
	uint32_t slots;

	err->text[0] = 0;
	if (last->size < last->layout.size + ARENA_LINK)
		return NULL;
	slots = __atomic_load_n(&head->slots, __ATOMIC_RELAXED);
	if (!slots)
		return NULL;
	chunk = allocate_chunk(slots, __atomic_load_n(&head->ring_size, __ATOMIC_RELAXED), 0,
			       last->left - last->layout.size, err);
	return chunk ? set_places(chunk, mremap(link, 0, chunk->size, MREMAP_MAYMOVE), err) : NULL;
}

/* Returns an entry of the table of spares: 0 has the number of used spares, i + 1 is spare i. */
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

struct chunk *chunk_take_spare(const struct chunk *family, uint32_t i, struct arena_hello *hello)
{
	struct arena_spare *spare = spare_at(family, i);
	uint32_t expected = SPARE_READY;
	struct chunk *chunk;
	void *map;

	if (__atomic_load_n(&spare->state, __ATOMIC_RELAXED) != SPARE_READY ||
	    !__atomic_compare_exchange_n(&spare->state, &expected, SPARE_KNOWN, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return NULL;
	memcpy(hello, &spare->hello, sizeof(*hello));
	if (hello->contract != CONTRACT_HASH || hello->slots != 1 ||
	    hello->ring_size != ARENA_RING_LEAST || hello->spares)
		return NULL;
	chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		return NULL;
	/* a second mapping: the first is unmapped when the process that made the chunk ends */
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
	add_mapped(chunk);
	return chunk;
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
	*chunk->at = chunk->next;
	if (chunk->next)
		chunk->next->at = chunk->at;
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
