/* SPDX-License-Identifier: MIT */
#include "postproc/views/leaks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/table.h"

struct held {
	struct kept kept;
	uint64_t count;	   /* times it was gained; 0: on the free list */
	struct held *next; /* in the free list, or of all that were replaced */
};

/*
 * Calls wait here for their turn while the memory that they will need comes into the cache: what
 * is held is spread over more than any cache holds, and waiting for it was half of all time.
 */
#define QUEUE_LENGTH 8u

struct waiting {
	struct kept kept;
	uint64_t hash;
};

struct leaks {
	bool with_arguments;
	unsigned queued; /* calls in the queue */
	unsigned oldest; /* index of the first of them */
	struct waiting queue[QUEUE_LENGTH];
	struct table table;    /* of struct held, by class and object */
	struct pool pool;      /* their memory */
	struct held *spare;    /* given back */
	struct held *replaced; /* no longer in the table, still leaks */
	uint64_t unknown_frees, replaced_count;
	struct {
		struct held **items;
		size_t count, capacity;
	} results;
	struct {
		struct leaks_total *items;
		size_t count, capacity;
	} totals;
};

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM,
			 "no memory left for what is held: select less, see -R and -C");
}

int leaks_create(struct leaks **leaks, bool with_arguments, struct error *err)
{
	*leaks = calloc(1, sizeof(**leaks));
	if (!*leaks)
		return no_memory(err);
	table_init(&(*leaks)->table);
	(*leaks)->with_arguments = with_arguments;
	return 0;
}

struct key {
	uint64_t object;
	uint32_t ordinal;
};

static bool held_equal(const void *item, const void *key)
{
	const struct held *held = item;
	const struct key *wanted = key;

	return held->kept.object == wanted->object &&
	       held->kept.resource->ordinal == wanted->ordinal;
}

static int add(struct leaks *leaks, struct waiting *call, struct error *err)
{
	struct held *held = leaks->spare;

	if (held)
		leaks->spare = held->next;
	else
		held = pool_alloc(&leaks->pool, sizeof(*held));
	if (!held || table_add(&leaks->table, call->hash, held)) {
		keep_release(&call->kept);
		return no_memory(err);
	}
	held->kept = call->kept;
	held->count = 1;
	held->next = NULL;
	return 0;
}

static int gain(struct leaks *leaks, struct waiting *call, struct held *held, struct error *err)
{
	if (!held)
		return add(leaks, call, err);
	if (call->kept.resource->flags & 1) {
		held->count++;
		keep_release(&call->kept);
		return 0;
	}
	leaks->replaced_count++;
	table_remove(&leaks->table, call->hash, held);
	held->next = leaks->replaced;
	leaks->replaced = held;
	return add(leaks, call, err);
}

static void lose(struct leaks *leaks, uint64_t hash, struct held *held)
{
	if (!held) {
		leaks->unknown_frees++;
		return;
	}
	if (--held->count)
		return;
	table_remove(&leaks->table, hash, held);
	keep_release(&held->kept);
	held->next = leaks->spare;
	leaks->spare = held;
}

static int take_oldest(struct leaks *leaks, struct error *err)
{
	struct waiting *call = &leaks->queue[leaks->oldest];
	struct key key = { call->kept.object, call->kept.resource->ordinal };
	struct held *held = table_find(&leaks->table, call->hash, held_equal, &key);

	leaks->oldest = (leaks->oldest + 1) % QUEUE_LENGTH;
	leaks->queued--;
	if (call->kept.type == CALL_TYPE_ALLOC)
		return gain(leaks, call, held, err);
	lose(leaks, call->hash, held);
	return 0;
}

/* The slot of the newest call is on its way, that of the one before it tells the record. */
static void fetch(const struct leaks *leaks)
{
	unsigned newest = (leaks->oldest + leaks->queued - 1) % QUEUE_LENGTH;
	unsigned before = (newest + QUEUE_LENGTH - 2) % QUEUE_LENGTH;

	table_fetch(&leaks->table, leaks->queue[newest].hash);
	if (leaks->queued > 2)
		table_fetch_item(&leaks->table, leaks->queue[before].hash);
}

int leaks_event(struct leaks *leaks, const struct event *event, struct error *err)
{
	struct waiting *call;
	bool is_alloc = event->type == CALL_TYPE_ALLOC;

	if (event->kind != EVENT_CALL || event->type == CALL_TYPE_NONE ||
	    (event->flags & CALL_FAILED))
		return 0;
	if (leaks->queued == QUEUE_LENGTH) {
		int rc = take_oldest(leaks, err);

		if (rc)
			return rc;
	}
	call = &leaks->queue[(leaks->oldest + leaks->queued) % QUEUE_LENGTH];
	if (keep_call(&call->kept, event, leaks->with_arguments && is_alloc))
		return no_memory(err);
	call->hash = hash_two(leaks->table.seed, event->object, event->resource->ordinal);
	leaks->queued++;
	fetch(leaks);
	return 0;
}

static int by_index(const void *one, const void *two)
{
	const struct held *a = *(struct held *const *)one, *b = *(struct held *const *)two;

	/* Damaged or edited text may say an index twice; the result must not depend on hashes. */
	if (a->kept.index != b->kept.index)
		return a->kept.index < b->kept.index ? -1 : 1;
	if (a->kept.object != b->kept.object)
		return a->kept.object < b->kept.object ? -1 : 1;
	return (a->kept.resource->ordinal > b->kept.resource->ordinal) -
	       (a->kept.resource->ordinal < b->kept.resource->ordinal);
}

static bool put_total(struct leaks *leaks, const struct kept *kept)
{
	struct leaks_total *total = NULL;

	for (size_t i = 0; i < leaks->totals.count && !total; i++)
		if (leaks->totals.items[i].resource->ordinal == kept->resource->ordinal)
			total = &leaks->totals.items[i];
	if (!total) {
		total = ARRAY_ADD(&leaks->totals);
		if (!total)
			return false;
		*total = (struct leaks_total){ kept->resource, 0, 0 };
	}
	total->count++;
	total->bytes += kept->size;
	return true;
}

static bool put_result(struct leaks *leaks, struct held *held)
{
	struct held **place = ARRAY_ADD(&leaks->results);

	if (place)
		*place = held;
	return place;
}

int leaks_finish(struct leaks *leaks, struct error *err)
{
	while (leaks->queued) {
		int rc = take_oldest(leaks, err);

		if (rc)
			return rc;
	}
	for (struct held *held = leaks->replaced; held; held = held->next)
		if (!put_result(leaks, held))
			return no_memory(err);
	for (size_t i = 0; leaks->table.slots && i <= leaks->table.mask; i++)
		if (leaks->table.slots[i].item && !put_result(leaks, leaks->table.slots[i].item))
			return no_memory(err);
	if (leaks->results.count)
		qsort(leaks->results.items, leaks->results.count, sizeof(*leaks->results.items),
		      by_index);
	for (size_t i = 0; i < leaks->results.count; i++)
		if (!put_total(leaks, &leaks->results.items[i]->kept))
			return no_memory(err);
	return 0;
}

size_t leaks_count(const struct leaks *leaks)
{
	return leaks->results.count;
}

const struct kept *leaks_at(const struct leaks *leaks, size_t i)
{
	return &leaks->results.items[i]->kept;
}

const struct leaks_total *leaks_total(const struct leaks *leaks, size_t i)
{
	return i < leaks->totals.count ? &leaks->totals.items[i] : NULL;
}

struct leaks_total leaks_total_of(const struct leaks *leaks, const struct resource_class *resource)
{
	for (size_t i = 0; i < leaks->totals.count; i++)
		if (leaks->totals.items[i].resource->ordinal == resource->ordinal)
			return leaks->totals.items[i];
	return (struct leaks_total){ resource, 0, 0 };
}

uint64_t leaks_unknown_frees(const struct leaks *leaks)
{
	return leaks->unknown_frees;
}

uint64_t leaks_replaced(const struct leaks *leaks)
{
	return leaks->replaced_count;
}

void leaks_destroy(struct leaks *leaks)
{
	if (!leaks)
		return;
	for (; leaks->queued; leaks->queued--)
		keep_release(
			&leaks->queue[(leaks->oldest + leaks->queued - 1) % QUEUE_LENGTH].kept);
	for (struct held *held = leaks->replaced; held; held = held->next)
		keep_release(&held->kept);
	for (size_t i = 0; leaks->table.slots && i <= leaks->table.mask; i++)
		if (leaks->table.slots[i].item)
			keep_release(&((struct held *)leaks->table.slots[i].item)->kept);
	table_free(&leaks->table);
	pool_free(&leaks->pool);
	free(leaks->results.items);
	free(leaks->totals.items);
	free(leaks);
}
