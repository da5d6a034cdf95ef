/* SPDX-License-Identifier: MIT */
#include "postproc/views/leaks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/pool.h"
#include "base/table.h"

/* What many calls have in common; their number is bounded, so that no input can make them many. */
struct kind {
	const struct function *function;
	const struct resource_class *resource;
	uint32_t context, section, number;
};

#define KINDS_MAX    (1u << 20)
#define KINDS_RECENT 64u /* a power of 2 */

/* One object: there may be millions. */
struct held {
	uint64_t index, object, size, time_ns;
	const struct backtrace *backtrace;
	union {
		struct wire_value *arguments; /* see keep_arguments(); NULL: none */
		struct held *next;	      /* in the list of the spare ones */
	};
	uint32_t kind; /* its number */
	uint32_t time_ms, thread;
	uint32_t count; /* times it was gained */
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct held) == 64, "as large as a line of the cache");

/*
 * Calls wait here for their turn while the memory that they will need comes into the cache: what
 * is held is spread over more than any cache holds, and waiting for it was half of all time.
 */
#define QUEUE_LENGTH 8u

struct waiting {
	struct key {
		const struct leaks *leaks;
		uint64_t object;
		uint32_t ordinal, section;
	} key;
	uint64_t hash;
	bool is_gain;	  /* then what is kept of it is here: */
	struct held held; /* not set for what is lost */
};

struct leaks {
	bool with_arguments;
	unsigned queued; /* calls in the queue */
	unsigned oldest; /* index of the first of them */
	struct waiting queue[QUEUE_LENGTH];
	struct table table; /* of struct held, by class and object */
	struct pool pool;   /* their memory */
	struct held *spare; /* given back */
	struct {
		struct held **items;
		size_t count, capacity;
	} replaced; /* no longer in the table, still leaks */
	struct {
		struct kind **items;
		size_t count, capacity;
	} kinds;
	struct table kinds_table;
	struct kind *recent[KINDS_RECENT];
	uint64_t last_ns; /* of all events */
	uint64_t min_age_ns, until_ns;
	struct held **results; /* once all is read: where the table was */
	size_t count;
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
	table_init(&(*leaks)->kinds_table);
	(*leaks)->with_arguments = with_arguments;
	(*leaks)->until_ns = UINT64_MAX;
	return 0;
}

void leaks_limit(struct leaks *leaks, uint64_t min_age_ns, uint64_t until_ns)
{
	leaks->min_age_ns = min_age_ns;
	leaks->until_ns = until_ns;
}

static const struct kind *kind_of(const struct leaks *leaks, const struct held *held)
{
	return leaks->kinds.items[held->kind];
}

static bool kind_equal(const void *item, const void *key)
{
	const struct kind *one = item, *other = key;

	return one->function == other->function && one->resource == other->resource &&
	       one->context == other->context && one->section == other->section;
}

/* Returns NULL if there is no memory, or there are too many. */
static struct kind *add_kind(struct leaks *leaks, const struct kind *like, uint64_t hash)
{
	struct kind *kind = table_find(&leaks->kinds_table, hash, kind_equal, like);
	struct kind **place;

	if (kind)
		return kind;
	if (leaks->kinds.count == KINDS_MAX)
		return NULL;
	kind = pool_alloc(&leaks->pool, sizeof(*kind));
	place = kind ? ARRAY_ADD(&leaks->kinds) : NULL;
	if (!place)
		return NULL;
	*kind = *like;
	kind->number = (uint32_t)leaks->kinds.count - 1;
	*place = kind;
	return table_add(&leaks->kinds_table, hash, kind) ? NULL : kind;
}

/* Most calls are of a kind that was just there. */
static const struct kind *find_kind(struct leaks *leaks, const struct event *event)
{
	struct kind like = { event->function, event->resource, event->context,
			     event->process->section, 0 };
	uint64_t hash = hash_two(leaks->kinds_table.seed, (uintptr_t)event->function,
				 (uint64_t)like.section << 32 | event->context);
	struct kind **recent = &leaks->recent[hash % KINDS_RECENT];

	if (!*recent || !kind_equal(*recent, &like))
		*recent = add_kind(leaks, &like, hash);
	return *recent;
}

static bool held_equal(const void *item, const void *key)
{
	const struct held *held = item;
	const struct key *wanted = key;
	const struct kind *kind = kind_of(wanted->leaks, held);

	return held->object == wanted->object && kind->resource->ordinal == wanted->ordinal &&
	       kind->section == wanted->section;
}

static int add(struct leaks *leaks, struct waiting *call, struct error *err)
{
	struct held *held = leaks->spare;

	if (held)
		leaks->spare = held->next;
	else
		held = pool_alloc(&leaks->pool, sizeof(*held));
	if (!held || table_add(&leaks->table, call->hash, held)) {
		free(call->held.arguments);
		return no_memory(err);
	}
	*held = call->held;
	return 0;
}

static int gain(struct leaks *leaks, struct waiting *call, struct held *held, struct error *err)
{
	struct held **place;

	if (!held)
		return add(leaks, call, err);
	if (kind_of(leaks, &call->held)->resource->flags & 1) {
		held->count++;
		free(call->held.arguments);
		return 0;
	}
	place = ARRAY_ADD(&leaks->replaced);
	if (!place) {
		free(call->held.arguments);
		return no_memory(err);
	}
	table_remove(&leaks->table, call->hash, held);
	*place = held;
	return add(leaks, call, err);
}

static void lose(struct leaks *leaks, uint64_t hash, struct held *held)
{
	if (!held || --held->count)
		return;
	table_remove(&leaks->table, hash, held);
	free(held->arguments);
	held->next = leaks->spare;
	leaks->spare = held;
}

static int take_oldest(struct leaks *leaks, struct error *err)
{
	struct waiting *call = &leaks->queue[leaks->oldest];
	struct held *held = table_find(&leaks->table, call->hash, held_equal, &call->key);

	leaks->oldest = (leaks->oldest + 1) % QUEUE_LENGTH;
	leaks->queued--;
	if (call->is_gain)
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

static int keep(struct leaks *leaks, struct held *held, const struct event *event)
{
	const struct kind *kind = find_kind(leaks, event);
	bool has_arguments = leaks->with_arguments && event->argument_count;

	if (!kind)
		return -ENOMEM;
	*held = (struct held){ .index = event->index,
			       .object = event->object,
			       .size = event->size,
			       .time_ns = event->time_ns,
			       .backtrace = event->backtrace,
			       .arguments = has_arguments ? keep_arguments(event) : NULL,
			       .kind = kind->number,
			       .time_ms = event->time_ms,
			       .thread = event->thread,
			       .count = 1 };
	return has_arguments && !held->arguments ? -ENOMEM : 0;
}

int leaks_event(struct leaks *leaks, const struct event *event, struct error *err)
{
	struct waiting *call;
	bool is_alloc = event->type == CALL_TYPE_ALLOC;

	if (event->time_ns > leaks->last_ns)
		leaks->last_ns = event->time_ns;
	if (event->kind != EVENT_CALL || event->type == CALL_TYPE_NONE ||
	    (event->flags & CALL_FAILED))
		return 0;
	if (leaks->queued == QUEUE_LENGTH) {
		int rc = take_oldest(leaks, err);

		if (rc)
			return rc;
	}
	call = &leaks->queue[(leaks->oldest + leaks->queued) % QUEUE_LENGTH];
	if (is_alloc && keep(leaks, &call->held, event))
		return no_memory(err);
	call->is_gain = is_alloc;
	call->key = (struct key){ leaks, event->object, event->resource->ordinal,
				  event->process->section };
	call->hash = hash_two(leaks->table.seed, event->object,
			      (uint64_t)event->process->section << 32 | event->resource->ordinal);
	leaks->queued++;
	fetch(leaks);
	return 0;
}

static int by_index(const void *one, const void *two)
{
	const struct held *a = *(struct held *const *)one, *b = *(struct held *const *)two;

	/* Damaged or edited text may say an index twice; the result must not depend on hashes. */
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return (a->kind > b->kind) - (a->kind < b->kind);
}

static bool put_total(struct leaks *leaks, const struct held *held)
{
	const struct resource_class *resource = kind_of(leaks, held)->resource;
	struct leaks_total *total = NULL;

	for (size_t i = 0; i < leaks->totals.count && !total; i++)
		if (leaks->totals.items[i].resource->ordinal == resource->ordinal)
			total = &leaks->totals.items[i];
	if (!total) {
		total = ARRAY_ADD(&leaks->totals);
		if (!total)
			return false;
		*total = (struct leaks_total){ resource, 0, 0 };
	}
	total->count++;
	total->bytes += held->size;
	return true;
}

static void put_result(struct leaks *leaks, struct held *held)
{
	uint64_t end = leaks->last_ns < leaks->until_ns ? leaks->last_ns : leaks->until_ns;

	if (leaks->min_age_ns && (held->time_ns > end || end - held->time_ns < leaks->min_age_ns))
		free(held->arguments);
	else
		leaks->results[leaks->count++] = held;
}

/*
 * What is held moves together where the table has it, so that no more memory is needed at the end
 * than before: a slot is two pointers, and the place that is written is never ahead.
 */
static int gather(struct leaks *leaks, struct error *err)
{
	size_t slots = leaks->table.slots ? leaks->table.mask + 1 : 0;
	size_t most = leaks->table.count + leaks->replaced.count;
	void *room;

	if (most > slots * 2) {
		room = realloc(leaks->table.slots, most * sizeof(*leaks->results));
		if (!room)
			return no_memory(err);
		leaks->table.slots = room;
	}
	leaks->results = (struct held **)(void *)leaks->table.slots;
	for (size_t i = 0; i < slots; i++) {
		struct held *held = leaks->table.slots[i].item;

		if (held)
			put_result(leaks, held);
	}
	leaks->table.slots = NULL;
	for (size_t i = 0; i < leaks->replaced.count; i++)
		put_result(leaks, leaks->replaced.items[i]);
	leaks->replaced.count = 0;
	/* Sorting takes memory, too. */
	room = leaks->count ? realloc(leaks->results, leaks->count * sizeof(*leaks->results))
			    : NULL;
	if (room)
		leaks->results = room;
	return 0;
}

int leaks_finish(struct leaks *leaks, struct error *err)
{
	int rc = 0;

	while (rc == 0 && leaks->queued)
		rc = take_oldest(leaks, err);
	if (rc == 0)
		rc = gather(leaks, err);
	if (rc)
		return rc;
	if (leaks->count)
		qsort(leaks->results, leaks->count, sizeof(*leaks->results), by_index);
	for (size_t i = 0; i < leaks->count; i++)
		if (!put_total(leaks, leaks->results[i]))
			return no_memory(err);
	return 0;
}

size_t leaks_count(const struct leaks *leaks)
{
	return leaks->count;
}

void leaks_at(const struct leaks *leaks, size_t i, struct kept *kept)
{
	const struct held *held = leaks->results[i];
	const struct kind *kind = kind_of(leaks, held);

	*kept = (struct kept){ .index = held->index,
			       .object = held->object,
			       .size = held->size,
			       .time_ns = held->time_ns,
			       .function = kind->function,
			       .resource = kind->resource,
			       .backtrace = held->backtrace,
			       .arguments = held->arguments,
			       .context = kind->context,
			       .time_ms = held->time_ms,
			       .thread = held->thread,
			       .section = kind->section,
			       .count = held->count,
			       .type = CALL_TYPE_ALLOC };
	while (held->arguments && held->arguments[kept->argument_count].name)
		kept->argument_count++;
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

static void free_arguments(struct leaks *leaks)
{
	for (; leaks->queued; leaks->queued--) {
		unsigned newest = (leaks->oldest + leaks->queued - 1) % QUEUE_LENGTH;

		if (leaks->queue[newest].is_gain)
			free(leaks->queue[newest].held.arguments);
	}
	for (size_t i = 0; i < leaks->replaced.count; i++)
		free(leaks->replaced.items[i]->arguments);
	for (size_t i = 0; leaks->table.slots && i <= leaks->table.mask; i++)
		if (leaks->table.slots[i].item)
			free(((struct held *)leaks->table.slots[i].item)->arguments);
	for (size_t i = 0; i < leaks->count; i++)
		free(leaks->results[i]->arguments);
}

void leaks_destroy(struct leaks *leaks)
{
	if (!leaks)
		return;
	free_arguments(leaks);
	table_free(&leaks->table);
	table_free(&leaks->kinds_table);
	pool_free(&leaks->pool);
	free(leaks->replaced.items);
	free(leaks->kinds.items);
	free(leaks->results);
	free(leaks->totals.items);
	free(leaks);
}
