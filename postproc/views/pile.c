/* SPDX-License-Identifier: MIT */
/*
 * A chunk of the file is the records of some calls and behind them its own size and where the
 * chunk before it ends, so that the chain is walked from the newest to the oldest.
 */
#include "postproc/views/pile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

/* The file is read by who wrote it, so pointers are as good as what they point to. */
struct record {
	const struct function *function;
	const struct resource_class *resource;
	uint64_t index, object, size, time_ns;
	uint32_t context, time_ms, thread, section;
	uint32_t texts; /* bytes of the arguments behind: name, NUL, value, NUL ... */
	uint16_t argument_count;
	uint8_t type;
};

struct link {
	uint64_t older;
	uint32_t size;
};

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "no memory left to group calls: select less");
}

static size_t texts_size(const struct event *event)
{
	size_t size = 0;

	for (uint32_t i = 0; i < event->argument_count; i++)
		size += strlen(event->arguments[i].name) + strlen(event->arguments[i].value) + 2;
	return size;
}

static int make_room(struct pile *pile, size_t size, struct error *err)
{
	size_t capacity = pile->capacity ? pile->capacity : sizeof(struct record);
	unsigned char *grown;

	if (pile->capacity - pile->size >= size)
		return 0;
	while (capacity < pile->size + size)
		capacity *= 2;
	if (capacity > UINT32_MAX / 2)
		return no_memory(err);
	grown = realloc(pile->bytes, capacity);
	if (!grown)
		return no_memory(err);
	pile->bytes = grown;
	pile->capacity = (uint32_t)capacity;
	return 0;
}

/* Puts what is in memory into the file. */
static int pile_spool(struct pile *pile, struct spool *spool, size_t chunk, struct error *err)
{
	struct link link = { .older = pile->older, .size = pile->size };
	uint64_t offset;
	int rc = make_room(pile, sizeof(link), err);

	if (rc)
		return rc;
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

static void put_texts(unsigned char *to, const struct event *event)
{
	char *at = (char *)to;

	for (uint32_t i = 0; i < event->argument_count; i++) {
		at = stpcpy(at, event->arguments[i].name) + 1;
		at = stpcpy(at, event->arguments[i].value) + 1;
	}
}

int pile_add(struct pile *pile, struct spool *spool, size_t chunk, const struct event *event,
	     bool with_arguments, struct error *err)
{
	bool has_arguments = with_arguments && event->argument_count;
	struct record record = { .function = event->function,
				 .resource = event->resource,
				 .index = event->index,
				 .object = event->object,
				 .size = event->size,
				 .time_ns = event->time_ns,
				 .context = event->context,
				 .time_ms = event->time_ms,
				 .thread = event->thread,
				 .section = event->process->section,
				 .type = (uint8_t)event->type };
	int rc = 0;

	if (has_arguments) {
		size_t texts = texts_size(event);

		if (texts > UINT32_MAX / 4)
			return no_memory(err);
		record.argument_count = (uint16_t)event->argument_count;
		record.texts = (uint32_t)texts;
	}
	if (pile->size && pile->size + sizeof(record) + record.texts > chunk)
		rc = pile_spool(pile, spool, chunk, err);
	if (rc == 0)
		rc = make_room(pile, sizeof(record) + record.texts, err);
	if (rc)
		return rc;
	memcpy(pile->bytes + pile->size, &record, sizeof(record));
	if (has_arguments)
		put_texts(pile->bytes + pile->size + sizeof(record), event);
	pile->size += (uint32_t)sizeof(record) + record.texts;
	return 0;
}

/* reading */

static void get_kept(const unsigned char *bytes, struct record *record, struct kept *kept)
{
	memcpy(record, bytes, sizeof(*record));
	*kept = (struct kept){ .index = record->index,
			       .object = record->object,
			       .size = record->size,
			       .time_ns = record->time_ns,
			       .function = record->function,
			       .resource = record->resource,
			       .argument_count = record->argument_count,
			       .context = record->context,
			       .time_ms = record->time_ms,
			       .thread = record->thread,
			       .section = record->section,
			       .count = 1,
			       .type = record->type };
}

/* Returns NULL if there are none, or no memory: then count says that there are some. */
static struct wire_value *get_arguments(const unsigned char *bytes, uint16_t count)
{
	const char *text = (const char *)bytes;
	struct wire_value *values = count ? calloc(count, sizeof(*values)) : NULL;

	for (uint16_t i = 0; values && i < count; i++) {
		values[i].name = text;
		values[i].value = text + strlen(text) + 1;
		text = values[i].value + strlen(values[i].value) + 1;
	}
	return values;
}

static int print_chunk(const unsigned char *bytes, size_t size,
		       int (*print)(void *user, struct kept *kept), void *user, struct error *err)
{
	const unsigned char *end = bytes + size;

	while (bytes < end) {
		struct record record;
		struct kept kept;
		int rc;

		get_kept(bytes, &record, &kept);
		kept.arguments = get_arguments(bytes + sizeof(record), record.argument_count);
		if (!kept.arguments && record.argument_count)
			return no_memory(err);
		rc = print(user, &kept);
		free(kept.arguments);
		if (rc)
			return rc;
		bytes += sizeof(record) + record.texts;
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

/* The chunks of the file, the newest first. */
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
		if (!chunk)
			return no_memory(err);
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
		cleanup_free unsigned char *bytes = malloc(chunk->size);

		if (!bytes)
			return no_memory(err);
		rc = spool_read(spool, chunk->offset, bytes, chunk->size, err);
		if (rc == 0)
			rc = print_chunk(bytes, chunk->size, print, user, err);
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
	return rc ? rc : print_chunk(pile->bytes, pile->size, print, user, err);
}

void pile_free(struct pile *pile)
{
	free(pile->bytes);
	*pile = (struct pile){ 0 };
}
