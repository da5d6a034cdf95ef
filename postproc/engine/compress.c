/* SPDX-License-Identifier: MIT */
#include "compress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/hash_table.h"
#include "base/spill_file.h"

/*
 * CALLS_MAX: memory that the calls of all groups together may use, in bytes. CHUNK_MIN, CHUNK_MAX:
 * limits of the share of one group.
 */
#define CALLS_MAX (32u << 20)
#define CHUNK_MIN 256u
#define CHUNK_MAX 4096u

struct compress {
	bool with_arguments;
	struct spill_file spill;
	struct hash_table table; /* the groups; key: backtrace */
	struct pool pool;
	ARRAY_OF(struct compress_group *) groups;
};

/* ---- calls in memory and in the file ---- */

/*
 * The last bytes of a chunk in the file. A chunk has calls of one group, then this struct. `older`
 * is the offset at which the group's previous chunk ends (0: there is none), so the chunks of a
 * group can be read from the newest to the oldest. `size` is the size of the calls in bytes.
 */
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

/* Adds a call to its group. chunk: maximum bytes of the group's calls in memory. */
static int add_call(struct spill_buffer *buffer, struct spill_file *spill, size_t chunk,
		    const struct event *event, bool with_arguments, struct error *err)
{
	size_t size = kept_size(event, with_arguments);

	if (size > UINT32_MAX / 4)
		return error_set(err, EFBIG,
				 "a call is too large to be grouped; leave out arguments (-a) or "
				 "cut backtraces (-b)");
	if (buffer->size && buffer->size + size > chunk) {
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
	make_room(buffer, size);
	kept_put(buffer->bytes + buffer->size, event, with_arguments);
	buffer->size += (uint32_t)size;
	return spill_error(spill, err);
}

/* ---- groups ---- */

void compress_create(struct compress **compress, bool with_arguments)
{
	*compress = memory_zalloc(1, sizeof(**compress));
	spill_init(&(*compress)->spill, SPILL_TMPDIR);
	hash_table_init(&(*compress)->table);
	(*compress)->with_arguments = with_arguments;
}

static bool group_equal(const void *item, const void *key)
{
	const struct compress_group *group = item;

	return group->backtrace == key;
}

/*
 * Finds or adds the group of a backtrace. Backtraces are interned: equal backtraces have the same
 * address.
 */
static struct compress_group *find_group(struct compress *compress,
					 const struct backtrace *backtrace)
{
	uint64_t hash = hash_two(compress->table.seed, (uintptr_t)backtrace, 0);
	struct compress_group *group =
		hash_table_find(&compress->table, hash, group_equal, backtrace);

	if (group)
		return group;
	group = pool_zalloc(&compress->pool, sizeof(*group));
	group->backtrace = backtrace;
	group->rank = compress->groups.count;
	*ARRAY_ADD(&compress->groups) = group;
	hash_table_add(&compress->table, hash, group);
	return group;
}

int compress_event(struct compress *compress, const struct event *event, struct error *err)
{
	struct compress_group *group;
	size_t chunk;
	int rc;

	if (!event_is_call(event))
		return 0;
	/*
	 * calls without a backtrace and calls with an empty backtrace are printed alike, so they
	 * share a group
	 */
	group = find_group(compress,
			   event->backtrace && event->backtrace->count ? event->backtrace : NULL);
	chunk = CALLS_MAX / compress->groups.count;
	chunk = chunk < CHUNK_MIN ? CHUNK_MIN : chunk > CHUNK_MAX ? CHUNK_MAX : chunk;
	rc = add_call(&group->calls, &compress->spill, chunk, event, compress->with_arguments, err);
	if (rc)
		return rc;
	group->count++;
	if (event->type == CALL_TYPE_ALLOC)
		group->bytes += event->size;
	return 0;
}

static uint64_t weight(const struct compress_group *group, enum sort_order order)
{
	return order == SORT_SIZE || order == SORT_SIZE_ASC ? group->bytes : group->count;
}

static int by_order(const void *one, const void *two, void *argument)
{
	const struct compress_group *a = *(struct compress_group *const *)one;
	const struct compress_group *b = *(struct compress_group *const *)two;
	enum sort_order order = *(enum sort_order *)argument;
	uint64_t weight_a = weight(a, order), weight_b = weight(b, order);
	bool is_ascending = order == SORT_SIZE_ASC || order == SORT_COUNT_ASC;

	if (weight_a != weight_b)
		return (weight_a < weight_b) == is_ascending ? -1 : 1;
	return a->rank < b->rank ? -1 : 1;
}

void compress_finish(struct compress *compress, enum sort_order order)
{
	if (compress->groups.count)
		qsort_r(compress->groups.items, compress->groups.count,
			sizeof(*compress->groups.items), by_order, &order);
}

size_t compress_count(const struct compress *compress)
{
	return compress->groups.count;
}

const struct compress_group *compress_at(const struct compress *compress, size_t i)
{
	return compress->groups.items[i];
}

/* ---- reading the calls again ---- */

static int print_chunk(const unsigned char *bytes, size_t size,
		       int (*print)(void *user, struct kept_call *kept), void *user)
{
	const unsigned char *end = bytes + size;

	while (bytes < end) {
		struct kept_call kept;
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

int compress_each(const struct compress *compress, const struct compress_group *group,
		  int (*print)(void *user, struct kept_call *kept), void *user, struct error *err)
{
	struct link link = { .older = group->calls.older };
	struct links links = { 0 };
	int rc = 0;

	/* find all chunks of the group in the file, from the newest to the oldest */
	while (rc == 0 && link.older) {
		uint64_t end = link.older - sizeof(link);

		rc = spill_read(&compress->spill, end, &link, sizeof(link), err);
		if (rc == 0)
			*ARRAY_ADD(&links) = (struct chunk){ end - link.size, link.size };
	}
	for (size_t i = links.count; rc == 0 && i > 0; i--) {
		const struct chunk *chunk = &links.items[i - 1];
		cleanup_free unsigned char *bytes = memory_alloc(chunk->size);

		rc = spill_read(&compress->spill, chunk->offset, bytes, chunk->size, err);
		if (rc == 0)
			rc = print_chunk(bytes, chunk->size, print, user);
	}
	free(links.items);
	return rc ? rc : print_chunk(group->calls.bytes, group->calls.size, print, user);
}

void compress_destroy(struct compress *compress)
{
	if (!compress)
		return;
	for (size_t i = 0; i < compress->groups.count; i++)
		free(compress->groups.items[i]->calls.bytes);
	spill_close(&compress->spill);
	hash_table_free(&compress->table);
	free(compress->groups.items);
	pool_free(&compress->pool);
	free(compress);
}

size_t kept_size(const struct event *event, bool with_arguments)
{
	size_t size = sizeof(struct kept_call);

	/* a copy of a call has at most UINT16_MAX arguments: see struct kept_call */
	for (uint16_t i = 0; with_arguments && i < (uint16_t)event->argument_count; i++)
		size += strlen(event->arguments[i].name) + strlen(event->arguments[i].value) + 2;
	return size;
}

/* Writes the struct, and after it the texts of the arguments: name, NUL, value, NUL ... */
void kept_put(unsigned char *bytes, const struct event *event, bool with_arguments)
{
	const struct kept_call kept = {
		.index = event->index,
		.object = event->object,
		.size = event->size,
		.time_ns = event->time_ns,
		.function = event->function,
		.resource = event->resource,
		.backtrace = event->backtrace,
		.argument_count = with_arguments ? (uint16_t)event->argument_count : 0,
		.context = event->context,
		.time_ms = event->time_ms,
		.thread = event->thread,
		.section = event->process->section,
		.count = 1,
		.type = (uint8_t)event->type,
	};
	char *at = (char *)bytes + sizeof(kept);

	memcpy(bytes, &kept, sizeof(kept));
	for (uint32_t i = 0; i < kept.argument_count; i++) {
		at = stpcpy(at, event->arguments[i].name) + 1;
		at = stpcpy(at, event->arguments[i].value) + 1;
	}
}

void kept_get(const unsigned char *bytes, struct kept_call *kept, size_t *size)
{
	const char *text = (const char *)bytes + sizeof(*kept);

	memcpy(kept, bytes, sizeof(*kept));
	if (kept->argument_count)
		kept->arguments = memory_zalloc(kept->argument_count, sizeof(*kept->arguments));
	for (uint16_t i = 0; i < kept->argument_count; i++) {
		kept->arguments[i].name = text;
		kept->arguments[i].value = text + strlen(text) + 1;
		text = kept->arguments[i].value + strlen(kept->arguments[i].value) + 1;
	}
	*size = (size_t)(text - (const char *)bytes);
}
