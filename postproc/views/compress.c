/* SPDX-License-Identifier: MIT */
#include "postproc/views/compress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/table.h"

struct compress {
	bool with_arguments;
	struct table table; /* of struct compress_group, by backtrace */
	struct pool pool;
	struct {
		struct compress_group **items;
		size_t count, capacity;
	} groups;
};

static const char *const order_names[] = {
	[SORT_SIZE] = "size",
	[SORT_SIZE_ASC] = "size-asc",
	[SORT_COUNT] = "count",
	[SORT_COUNT_ASC] = "count-asc",
};

enum sort_order compress_order(const char *name)
{
	unsigned order = 0;

	while (order < SORT_COUNT_OF && strcmp(name, order_names[order]) != 0)
		order++;
	return (enum sort_order)order;
}

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "no memory left to group all calls: add -l, or select less");
}

int compress_create(struct compress **compress, bool with_arguments, struct error *err)
{
	*compress = calloc(1, sizeof(**compress));
	if (!*compress)
		return no_memory(err);
	table_init(&(*compress)->table);
	(*compress)->with_arguments = with_arguments;
	return 0;
}

static bool group_equal(const void *item, const void *key)
{
	const struct compress_group *group = item;

	return group->backtrace == key;
}

/* Backtraces are interned: an address is as good as their contents. */
static struct compress_group *find_group(struct compress *compress,
					 const struct backtrace *backtrace)
{
	uint64_t hash = hash_two(compress->table.seed, (uintptr_t)backtrace, 0);
	struct compress_group *group = table_find(&compress->table, hash, group_equal, backtrace);
	struct compress_group **place;

	if (group)
		return group;
	group = pool_zalloc(&compress->pool, sizeof(*group));
	place = group ? ARRAY_ADD(&compress->groups) : NULL;
	if (!place)
		return NULL;
	group->backtrace = backtrace;
	group->rank = compress->groups.count - 1;
	*place = group;
	return table_add(&compress->table, hash, group) ? NULL : group;
}

int compress_event(struct compress *compress, const struct event *event, struct error *err)
{
	struct compress_group *group;
	struct compress_call *call;

	if (!event_is_call(event))
		return 0;
	group = find_group(compress, event->backtrace);
	call = group ? pool_alloc(&compress->pool, sizeof(*call)) : NULL;
	if (!call || keep_call(&call->kept, event, compress->with_arguments))
		return no_memory(err);
	call->next = NULL;
	if (group->last)
		group->last->next = call;
	else
		group->first = call;
	group->last = call;
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

void compress_destroy(struct compress *compress)
{
	if (!compress)
		return;
	for (size_t i = 0; compress->with_arguments && i < compress->groups.count; i++)
		for (struct compress_call *call = compress->groups.items[i]->first; call;
		     call = call->next)
			keep_release(&call->kept);
	table_free(&compress->table);
	free(compress->groups.items);
	pool_free(&compress->pool);
	free(compress);
}
