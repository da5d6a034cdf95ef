/* SPDX-License-Identifier: MIT */
#include "compress.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/hash_table.h"

/* Memory for the calls of all groups; bounds of the memory for the calls of one group. */
#define CALLS_MAX (32u << 20)
#define CHUNK_MIN 256u
#define CHUNK_MAX 4096u

struct compress {
	bool with_arguments;
	struct spill_file spill;
	struct hash_table table; /* of struct compress_group, by backtrace */
	struct pool pool;
	ARRAY_OF(struct compress_group *) groups;
};

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

/* Backtraces are interned: equal addresses mean equal contents. */
static struct compress_group *find_group(struct compress *compress,
					 const struct backtrace *backtrace)
{
	uint64_t hash = hash_two(compress->table.seed, (uintptr_t)backtrace, 0);
	struct compress_group *group =
		hash_table_find(&compress->table, hash, group_equal, backtrace);
	struct compress_group **place;

	if (group)
		return group;
	group = pool_zalloc(&compress->pool, sizeof(*group));
	place = ARRAY_ADD(&compress->groups);
	group->backtrace = backtrace;
	group->rank = compress->groups.count - 1;
	*place = group;
	hash_table_add(&compress->table, hash, group);
	return group;
}

static size_t chunk_size(const struct compress *compress)
{
	size_t share = CALLS_MAX / compress->groups.count;

	return share < CHUNK_MIN ? CHUNK_MIN : share > CHUNK_MAX ? CHUNK_MAX : share;
}

int compress_event(struct compress *compress, const struct event *event, struct error *err)
{
	struct compress_group *group;
	int rc;

	if (!event_is_call(event))
		return 0;
	/* A call without a backtrace and one with no frames are printed alike. */
	group = find_group(compress,
			   event->backtrace && event->backtrace->count ? event->backtrace : NULL);
	rc = spill_buffer_add(&group->calls, &compress->spill, chunk_size(compress), event,
			      compress->with_arguments, err);
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

int compress_each(const struct compress *compress, const struct compress_group *group,
		  int (*print)(void *user, struct kept *kept), void *user, struct error *err)
{
	return spill_buffer_each(&group->calls, &compress->spill, print, user, err);
}

void compress_destroy(struct compress *compress)
{
	if (!compress)
		return;
	for (size_t i = 0; i < compress->groups.count; i++)
		spill_buffer_free(&compress->groups.items[i]->calls);
	spill_close(&compress->spill);
	hash_table_free(&compress->table);
	free(compress->groups.items);
	pool_free(&compress->pool);
	free(compress);
}
