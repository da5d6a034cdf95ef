/* SPDX-License-Identifier: MIT */
/*
 * A chunk of the file is the records of some calls, followed by its size and the offset at which
 * the previous chunk ends. So the chain is walked from the newest chunk to the oldest.
 */
#include "pile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "kept_bytes.h"

struct link {
	uint64_t older;
	uint32_t size;
};

static void make_room(struct pile *pile, size_t size)
{
	size_t capacity = pile->capacity ? pile->capacity : 128;
	unsigned char *grown;

	if (pile->capacity - pile->size >= size)
		return;
	while (capacity < pile->size + size)
		capacity *= 2;
	grown = memory_resize(pile->bytes, capacity);
	pile->bytes = grown;
	pile->capacity = (uint32_t)capacity;
}

/* Writes the calls in memory to the file. */
static int pile_spool(struct pile *pile, struct spool *spool, size_t chunk, struct error *err)
{
	struct link link = { .older = pile->older, .size = pile->size };
	uint64_t offset;
	int rc;

	make_room(pile, sizeof(link));
	memcpy(pile->bytes + pile->size, &link, sizeof(link));
	rc = spool_append(spool, pile->bytes, pile->size + sizeof(link), &offset, err);
	if (rc)
		return error_system(err, -rc, "-c needs a temporary file in $TMPDIR, or /tmp");
	pile->older = offset + pile->size + sizeof(link);
	pile->size = 0;
	if (pile->capacity > chunk + sizeof(link)) {
		free(pile->bytes);
		pile->bytes = NULL;
		pile->capacity = 0;
	}
	return 0;
}

int pile_add(struct pile *pile, struct spool *spool, size_t chunk, const struct event *event,
	     bool with_arguments, struct error *err)
{
	size_t size = kept_size(event, with_arguments);
	int rc = 0;

	if (size > UINT32_MAX / 4)
		return error_set(err, EFBIG, "a call too large to be grouped: select less");
	if (pile->size && pile->size + size > chunk)
		rc = pile_spool(pile, spool, chunk, err);
	if (rc == 0)
		make_room(pile, size);
	if (rc)
		return rc;
	kept_put(pile->bytes + pile->size, event, with_arguments);
	pile->size += (uint32_t)size;
	return 0;
}

/* ---- reading ---- */

static int print_chunk(const unsigned char *bytes, size_t size,
		       int (*print)(void *user, struct kept *kept), void *user)
{
	const unsigned char *end = bytes + size;

	while (bytes < end) {
		struct kept kept;
		size_t length;
		int rc;

		kept_get(bytes, &kept, &length);
		rc = print(user, &kept);
		free(kept.arguments);
		if (rc)
			return rc;
		bytes += length;
	}
	return 0;
}

struct links {
	struct chunk {
		uint64_t offset;
		uint32_t size;
	} * items;
	size_t count, capacity;
};

/* Finds the chunks in the file, the newest first. */
static int find_chunks(const struct pile *pile, const struct spool *spool, struct links *links,
		       struct error *err)
{
	struct link link = { .older = pile->older };

	while (link.older) {
		uint64_t end = link.older - sizeof(link);
		struct chunk *chunk;
		int rc = spool_read(spool, end, &link, sizeof(link), err);

		if (rc)
			return rc;
		chunk = ARRAY_ADD(links);
		*chunk = (struct chunk){ end - link.size, link.size };
	}
	return 0;
}

static int print_spooled(const struct links *links, const struct spool *spool,
			 int (*print)(void *user, struct kept *kept), void *user, struct error *err)
{
	int rc = 0;

	for (size_t i = links->count; rc == 0 && i > 0; i--) {
		const struct chunk *chunk = &links->items[i - 1];
		cleanup_free unsigned char *bytes = memory_alloc(chunk->size);

		rc = spool_read(spool, chunk->offset, bytes, chunk->size, err);
		if (rc == 0)
			rc = print_chunk(bytes, chunk->size, print, user);
	}
	return rc;
}

int pile_each(const struct pile *pile, const struct spool *spool,
	      int (*print)(void *user, struct kept *kept), void *user, struct error *err)
{
	struct links links = { 0 };
	int rc = find_chunks(pile, spool, &links, err);

	if (rc == 0)
		rc = print_spooled(&links, spool, print, user, err);
	free(links.items);
	return rc ? rc : print_chunk(pile->bytes, pile->size, print, user);
}

void pile_free(struct pile *pile)
{
	free(pile->bytes);
	*pile = (struct pile){ 0 };
}
