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
	uint32_t context, number;
	uint64_t domain; /* objects of another one are others, though they have one name */
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
	uint64_t object, domain, hash;
	struct held *held; /* what is gained, not yet in the table; NULL: a loss */
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

/* The stream and the class in it. */
static uint64_t domain_of(const struct event *event)
{
	return (uint64_t)event->process->section << 32 | event->resource->ordinal;
}

static bool kind_equal(const void *item, const void *key)
{
	const struct kind *one = item, *other = key;

	return one->function == other->function && one->resource == other->resource &&
	       one->context == other->context && one->domain == other->domain;
}

/* Returns NULL if there is no memory, or there are too many. */
static struct kind *add_kind(struct leaks *leaks, const struct kind *like)
{
	uint64_t hash = hash_two(leaks->kinds_table.seed, (uintptr_t)like->function,
				 like->domain << 32 ^ like->domain >> 32 ^ like->context);
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
	struct kind like = { event->function, event->resource, event->context, 0,
			     domain_of(event) };
	struct kind **recent = &leaks->recent[event->function->id % KINDS_RECENT];

	if (!*recent || !kind_equal(*recent, &like))
		*recent = add_kind(leaks, &like);
	return *recent;
}

static struct held *take_spare(struct leaks *leaks)
{
	struct held *held = leaks->spare;

	if (!held)
		return pool_alloc(&leaks->pool, sizeof(*held));
	leaks->spare = held->next;
	return held;
}

static void give_back(struct leaks *leaks, struct held *held)
{
	free(held->arguments);
	held->next = leaks->spare;
	leaks->spare = held;
}

static int add(struct leaks *leaks, struct waiting *call, struct error *err)
{
	if (table_add(&leaks->table, call->hash, call->held) == 0)
		return 0;
	give_back(leaks, call->held);
	return no_memory(err);
}

/* before: what has the same name already, or NULL. */
static int gain(struct leaks *leaks, struct waiting *call, struct held *before, struct error *err)
{
	struct held **place;

	if (!before)
		return add(leaks, call, err);
	if (kind_of(leaks, call->held)->resource->flags & 1) {
		before->count++;
		give_back(leaks, call->held);
		return 0;
	}
	place = ARRAY_ADD(&leaks->replaced);
	if (!place) {
		give_back(leaks, call->held);
		return no_memory(err);
	}
	table_remove(&leaks->table, call->hash, before);
	*place = before;
	return add(leaks, call, err);
}

static void lose(struct leaks *leaks, uint64_t hash, struct held *held)
{
	if (!held || --held->count)
		return;
	table_remove(&leaks->table, hash, held);
	give_back(leaks, held);
}

struct key {
	const struct leaks *leaks;
	uint64_t object, domain;
};

static bool held_equal(const void *item, const void *key)
{
	const struct held *held = item;
	const struct key *wanted = key;

	return held->object == wanted->object &&
	       kind_of(wanted->leaks, held)->domain == wanted->domain;
}

static inline int take_oldest(struct leaks *leaks, struct error *err)
{
	struct waiting *call = &leaks->queue[leaks->oldest];
	struct key key = { leaks, call->object, call->domain };
	struct held *held = table_find(&leaks->table, call->hash, held_equal, &key);

	leaks->oldest = (leaks->oldest + 1) % QUEUE_LENGTH;
	leaks->queued--;
	if (call->held)
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

/* NULL: no memory. */
static struct held *keep(struct leaks *leaks, const struct event *event)
{
	const struct kind *kind = find_kind(leaks, event);
	struct held *held = kind ? take_spare(leaks) : NULL;
	bool has_arguments = leaks->with_arguments && event->argument_count;

	if (!held)
		return NULL;
	*held = (struct held){ .index = event->index,
			       .object = event->object,
			       .size = event->size,
			       .time_ns = event->time_ns,
			       .backtrace = event->backtrace,
			       .kind = kind->number,
			       .time_ms = event->time_ms,
			       .thread = event->thread,
			       .count = 1 };
	if (has_arguments)
		held->arguments = keep_arguments(event);
	if (!has_arguments || held->arguments)
		return held;
	give_back(leaks, held);
	return NULL;
}

/* Puts the call behind those that wait. */
static int queue_call(struct leaks *leaks, const struct event *event, struct error *err)
{
	struct waiting *call = &leaks->queue[(leaks->oldest + leaks->queued) % QUEUE_LENGTH];
	bool is_gain = event->type == CALL_TYPE_ALLOC;

	call->held = is_gain ? keep(leaks, event) : NULL;
	if (is_gain && !call->held)
		return no_memory(err);
	call->object = event->object;
	call->domain = domain_of(event);
	call->hash = hash_two(leaks->table.seed, call->object, call->domain);
	leaks->queued++;
	fetch(leaks);
	return 0;
}

int leaks_event(struct leaks *leaks, const struct event *event, struct error *err)
{
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
	return queue_call(leaks, event, err);
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
			       .section = (uint32_t)(kind->domain >> 32),
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

		if (leaks->queue[newest].held)
			free(leaks->queue[newest].held->arguments);
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
