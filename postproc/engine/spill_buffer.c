/* SPDX-License-Identifier: MIT */
/*
 * A chunk of the file is the records of some calls, followed by its size and the offset at which
 * the previous chunk ends. So the chain is walked from the newest chunk to the oldest.
 */
#include "spill_buffer.h"

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

static void make_room(struct spill_buffer *buffer, size_t size)
{
	size_t capacity = buffer->capacity ? buffer->capacity : 128;
	unsigned char *grown;

	if (buffer->capacity - buffer->size >= size)
		return;
	while (capacity < buffer->size + size)
		capacity *= 2;
	grown = memory_resize(buffer->bytes, capacity);
	buffer->bytes = grown;
	buffer->capacity = (uint32_t)capacity;
}

/* Writes the calls in memory to the file. */
static void spill_chunk(struct spill_buffer *buffer, struct spill_file *spill, size_t chunk)
{
	struct link link = { .older = buffer->older, .size = buffer->size };

	make_room(buffer, sizeof(link));
	memcpy(buffer->bytes + buffer->size, &link, sizeof(link));
	buffer->older = spill_append(spill, buffer->bytes, buffer->size + sizeof(link)) +
			buffer->size + sizeof(link);
	buffer->size = 0;
	if (buffer->capacity > chunk + sizeof(link)) {
		free(buffer->bytes);
		buffer->bytes = NULL;
		buffer->capacity = 0;
	}
}

int spill_buffer_add(struct spill_buffer *buffer, struct spill_file *spill, size_t chunk,
		     const struct event *event, bool with_arguments, struct error *err)
{
	size_t size = kept_size(event, with_arguments);

	if (size > UINT32_MAX / 4)
		return error_set(err, EFBIG, "a call too large to be grouped: select less");
	if (buffer->size && buffer->size + size > chunk)
		spill_chunk(buffer, spill, chunk);
	make_room(buffer, size);
	kept_put(buffer->bytes + buffer->size, event, with_arguments);
	buffer->size += (uint32_t)size;
	return spill_error(spill, err);
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
static int find_chunks(const struct spill_buffer *buffer, const struct spill_file *spill,
		       struct links *links, struct error *err)
{
	struct link link = { .older = buffer->older };

	while (link.older) {
		uint64_t end = link.older - sizeof(link);
		struct chunk *chunk;
		int rc = spill_read(spill, end, &link, sizeof(link), err);

		if (rc)
			return rc;
		chunk = ARRAY_ADD(links);
		*chunk = (struct chunk){ end - link.size, link.size };
	}
	return 0;
}

static int print_spooled(const struct links *links, const struct spill_file *spill,
			 int (*print)(void *user, struct kept *kept), void *user, struct error *err)
{
	int rc = 0;

	for (size_t i = links->count; rc == 0 && i > 0; i--) {
		const struct chunk *chunk = &links->items[i - 1];
		cleanup_free unsigned char *bytes = memory_alloc(chunk->size);

		rc = spill_read(spill, chunk->offset, bytes, chunk->size, err);
		if (rc == 0)
			rc = print_chunk(bytes, chunk->size, print, user);
	}
	return rc;
}

int spill_buffer_each(const struct spill_buffer *buffer, const struct spill_file *spill,
		      int (*print)(void *user, struct kept *kept), void *user, struct error *err)
{
	struct links links = { 0 };
	int rc = find_chunks(buffer, spill, &links, err);

	if (rc == 0)
		rc = print_spooled(&links, spill, print, user, err);
	free(links.items);
	return rc ? rc : print_chunk(buffer->bytes, buffer->size, print, user);
}

void spill_buffer_free(struct spill_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct spill_buffer){ 0 };
}
