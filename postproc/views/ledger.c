/* SPDX-License-Identifier: MIT */
#include "postproc/views/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "hook_table.h"

#define ARGUMENTS_MAX	   200u /* bytes that are kept of the arguments of a call */
#define THREADS_REMEMBERED 64u

enum { OF_PROCESS, OF_RUN };

struct listener {
	ledger_listener *function;
	void *user;
};

struct thread {
	uint32_t id;	/* kernel's */
	uint64_t turns; /* calls so far */
};

struct ledger {
	struct atlas *atlas;
	struct pool pool; /* names of classes, places */
	struct ledger_class classes[LEDGER_CLASSES];
	uint32_t class_count;
	struct {
		uint8_t *items; /* by id of the trace's class: ours + 1; 0: not asked yet */
		size_t count, capacity;
	} class_of;
	struct listener listeners[LEDGER_LISTENERS];
	struct ledger_tally *tallies[LEDGER_LISTENERS];
	unsigned listener_count, tally_count;

	/* of the process */
	struct held_table held; /* held.size: bytes; held.site: index of the item */
	struct {
		struct ledger_item *items; /* from 1 */
		size_t count, capacity;
	} items;
	uint32_t spare; /* first of the free items; 0: none */
	struct mapped mapped;
	struct sites sites;
	struct held_table thread_table; /* by kernel's id; held.site: index */
	struct {
		struct thread *items;
		size_t count, capacity;
	} threads;
	uint32_t remembered[THREADS_REMEMBERED]; /* index + 1, by kernel's id */

	/* of the run */
	struct table places_by_key; /* index + 1 */
	struct {
		struct ledger_place *items;
		size_t count, capacity;
	} places;
};

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "no memory for what is held: select less, see --resource");
}

/* ---- classes ---- */

uint32_t ledger_rank(enum resource known)
{
	static const unsigned char ranks[RESOURCE_COUNT] = {
		[RESOURCE_MEMORY] = 1,	   [RESOURCE_FILE] = 2,	      [RESOURCE_DIRECTORY] = 2,
		[RESOURCE_SHM_FD] = 3,	   [RESOURCE_FD] = 4,	      [RESOURCE_LOCK] = 5,
		[RESOURCE_THREAD] = 6,	   [RESOURCE_PROCESS] = 7,    [RESOURCE_SEGMENT] = 8,
		[RESOURCE_SEMSET] = 8,	   [RESOURCE_SHM_OBJECT] = 8, [RESOURCE_ATTACHMENT] = 9,
		[RESOURCE_NONE] = 9,	   [RESOURCE_EVENT] = 9,      [RESOURCE_SEMAPHORE] = 10,
		[RESOURCE_CONDITION] = 11, [RESOURCE_MUTEX] = 12,     [RESOURCE_MAPPING] = 14,
	};

	return ranks[known] ? ranks[known] : 13;
}

static uint32_t find_class(struct ledger *ledger, const struct resource_class *resource)
{
	const char *type = *resource->type ? resource->type : "object";
	struct ledger_class *class;
	uint32_t i;

	for (i = 0; i < ledger->class_count; i++)
		if (ledger->classes[i].known == resource->known &&
		    (resource->known || !strcmp(ledger->classes[i].type, type)))
			return i;
	if (i == LEDGER_CLASSES)
		return i - 1;
	class = &ledger->classes[i];
	*class = (struct ledger_class){
		.known = resource->known,
		.type = pool_text(&ledger->pool, type, strlen(type)),
		.is_counted = resource->flags & 1,
		.has_bytes = resource->known == RESOURCE_MEMORY ||
			     resource->known == RESOURCE_MAPPING ||
			     resource->known == RESOURCE_SEGMENT,
		.rank = ledger_rank(resource->known),
	};
	if (!class->type)
		class->type = "object";
	return ledger->class_count++;
}

/* LEDGER_CLASSES: no memory. */
static uint32_t class_of(struct ledger *ledger, const struct resource_class *resource)
{
	while (ledger->class_of.count <= resource->id) {
		uint8_t *item = ARRAY_ADD(&ledger->class_of);

		if (!item)
			return LEDGER_CLASSES;
		*item = 0;
	}
	if (!ledger->class_of.items[resource->id])
		ledger->class_of.items[resource->id] = (uint8_t)(find_class(ledger, resource) + 1);
	return ledger->class_of.items[resource->id] - 1u;
}

/* ---- threads ---- */

static uint32_t add_thread(struct ledger *ledger, uint32_t id)
{
	struct held *held = held_find(&ledger->thread_table, 0, id);
	struct thread *thread;

	if (held)
		return held->site;
	held = held_add(&ledger->thread_table, 0, id);
	thread = held ? ARRAY_ADD(&ledger->threads) : NULL;
	if (!thread)
		return UINT32_MAX;
	*thread = (struct thread){ .id = id };
	held->site = (uint32_t)ledger->threads.count - 1;
	return held->site;
}

/* Index of the thread; UINT32_MAX: no memory. */
static uint32_t thread_of(struct ledger *ledger, uint32_t id)
{
	uint32_t *remembered = &ledger->remembered[id % THREADS_REMEMBERED];

	if (*remembered && ledger->threads.items[*remembered - 1].id == id)
		return *remembered - 1;
	*remembered = add_thread(ledger, id) + 1;
	return *remembered - 1;
}

/* ---- items ---- */

/* "/etc/passwd", or "port=80 address=1.2.3.4": what tells one object from another. */
static char *arguments_of(const struct event *event)
{
	const char *path = event_argument(event, "path");
	char text[ARGUMENTS_MAX];
	size_t length = 0;

	if (!path || !*path)
		path = event_argument(event, "name");
	if (path && *path)
		return strndup(path, ARGUMENTS_MAX);
	for (uint32_t i = 0; i < event->argument_count && length < sizeof(text); i++) {
		int added = snprintf(text + length, sizeof(text) - length, "%s%s=%s", i ? " " : "",
				     event->arguments[i].name, event->arguments[i].value);

		length += added > 0 ? (size_t)added : 0;
	}
	return length ? strdup(text) : NULL;
}

/* Index of an item; 0: no memory. */
static uint32_t add_item(struct ledger *ledger)
{
	uint32_t index = ledger->spare;
	struct ledger_item *item;

	if (index) {
		ledger->spare = ledger->items.items[index].site;
		return index;
	}
	item = ARRAY_ADD(&ledger->items);
	/* The first one stands for "none". */
	if (item && ledger->items.count == 1)
		item = ARRAY_ADD(&ledger->items);
	return item && ledger->items.count < UINT32_MAX ? (uint32_t)ledger->items.count - 1 : 0;
}

static void remove_item(struct ledger *ledger, uint32_t index)
{
	struct ledger_item *item = &ledger->items.items[index];

	free(item->arguments);
	item->arguments = NULL;
	item->site = ledger->spare;
	ledger->spare = index;
}

/* ---- moves ---- */

static int tell(struct ledger *ledger, const struct ledger_move *move, struct error *err)
{
	for (unsigned i = 0; i < ledger->listener_count; i++) {
		int rc = ledger->listeners[i].function(ledger->listeners[i].user, move, err);

		if (rc)
			return rc;
	}
	return 0;
}

static uint64_t size_of(const struct ledger_class *class, uint64_t size)
{
	return class->has_bytes || class->known == RESOURCE_NONE ? size : 0;
}

/* move: has its event, class, thread and turn. */
static int lose_held(struct ledger *ledger, struct ledger_move *move, struct held *held,
		     struct error *err)
{
	uint32_t index = held->site;
	int rc;

	move->is_gain = false;
	move->site = ledger->items.items[index].site;
	move->is_part = sites_at(&ledger->sites, move->site)->is_part;
	move->count = -1;
	move->bytes = size_of(&ledger->classes[move->class], held->size);
	move->item = &ledger->items.items[index];
	rc = tell(ledger, move, err);
	remove_item(ledger, index);
	return rc;
}

static int gain_held(struct ledger *ledger, struct ledger_move *move, struct held *held,
		     struct error *err)
{
	const struct event *event = move->event;
	uint32_t site = sites_of(&ledger->sites, (uint8_t)move->class, event);
	uint32_t index = site ? add_item(ledger) : 0;
	struct ledger_item *item;

	if (!index)
		return no_memory(err);
	item = &ledger->items.items[index];
	*item = (struct ledger_item){
		.gained_ns = event->time_ns,
		.turn = move->turn,
		.thread = move->thread,
		.arguments = ledger->classes[move->class].known == RESOURCE_MEMORY
				     ? NULL
				     : arguments_of(event),
		.site = site,
	};
	held->site = index;
	held->size = event->size;
	move->is_gain = true;
	move->site = site;
	move->is_part = sites_at(&ledger->sites, site)->is_part;
	move->count = 1;
	move->bytes = size_of(&ledger->classes[move->class], event->size);
	move->item = item;
	return tell(ledger, move, err);
}

static int gain(struct ledger *ledger, struct ledger_move *move, struct error *err)
{
	struct held *held = held_find(&ledger->held, move->class, move->event->object);
	int rc = 0;

	if (held && ledger->classes[move->class].is_counted) {
		held->count += held->count < HELD_COUNT_MAX;
		return 0;
	}
	if (held)
		rc = lose_held(ledger, move, held, err);
	else
		held = held_add(&ledger->held, move->class, move->event->object);
	if (!held)
		return no_memory(err);
	return rc ? rc : gain_held(ledger, move, held, err);
}

static int lose(struct ledger *ledger, struct ledger_move *move, struct error *err)
{
	struct held *held = held_find(&ledger->held, move->class, move->event->object);
	int rc;

	if (!held)
		return 0;
	if (held->count > 1) {
		held->count--;
		return 0;
	}
	rc = lose_held(ledger, move, held, err);
	held_remove(&ledger->held, held);
	return rc;
}

/* ---- mappings ---- */

/* All that is mapped from there on; size 0: the mapping that begins there. */
static int unmap(struct ledger *ledger, struct ledger_move *move, struct error *err)
{
	uint64_t start = move->event->object, end = start + move->event->size;
	struct mapped_piece piece;
	int rc;

	/* Of pages, the last one goes as a whole. */
	if (start % 4096 == 0)
		end = (end + 4095) / 4096 * 4096;
	if (!move->event->size)
		end = mapped_end(&ledger->mapped, start);
	move->is_gain = false;
	move->item = NULL;
	while ((rc = mapped_cut(&ledger->mapped, start, end, &piece)) > 0) {
		move->site = piece.site;
		move->is_part = false;
		move->count = piece.ranges;
		move->bytes = piece.bytes;
		rc = tell(ledger, move, err);
		if (rc)
			return rc;
	}
	return rc ? no_memory(err) : 0;
}

static int map(struct ledger *ledger, struct ledger_move *move, struct error *err)
{
	const struct event *event = move->event;
	uint64_t end = event->object + event->size;
	uint32_t site = sites_of(&ledger->sites, (uint8_t)move->class, event);
	int rc;

	if (!site)
		return no_memory(err);
	if (end <= event->object)
		return 0;
	/* What was there and was not seen to go. */
	rc = unmap(ledger, move, err);
	if (rc)
		return rc;
	if (mapped_add(&ledger->mapped, event->object, end, site))
		return no_memory(err);
	move->is_gain = true;
	move->site = site;
	move->is_part = false;
	move->count = 1;
	move->bytes = event->size;
	return tell(ledger, move, err);
}

int ledger_event(struct ledger *ledger, const struct event *event, struct error *err)
{
	struct ledger_move move = { .event = event };

	move.thread = thread_of(ledger, event->thread);
	if (move.thread == UINT32_MAX)
		return no_memory(err);
	/* Halves and parts are one call with what they belong to. */
	if (!event->part && event->moment != MOMENT_HALF)
		ledger->threads.items[move.thread].turns++;
	if (event->type == CALL_TYPE_NONE || event->flags & CALL_FAILED)
		return 0;
	move.turn = ledger->threads.items[move.thread].turns;
	move.class = class_of(ledger, event->resource);
	if (move.class == LEDGER_CLASSES)
		return no_memory(err);
	if (ledger->classes[move.class].known == RESOURCE_MAPPING)
		return event->type == CALL_TYPE_FREE ? unmap(ledger, &move, err)
						     : map(ledger, &move, err);
	return event->type == CALL_TYPE_FREE ? lose(ledger, &move, err) : gain(ledger, &move, err);
}

/* ---- what is held ---- */

static bool mapping_held(const struct ledger *ledger, size_t index, struct ledger_held *held)
{
	const struct mapped_range *range;

	if (index >= ledger->mapped.count)
		return false;
	range = &ledger->mapped.items[index];
	*held = (struct ledger_held){
		.site = range->site,
		.class = sites_at(&ledger->sites, range->site)->class,
		.object = range->start,
		.bytes = range->end - range->start,
	};
	return true;
}

bool ledger_held(const struct ledger *ledger, size_t *at, struct ledger_held *result)
{
	size_t slots = ledger->held.items ? ledger->held.mask + 1 : 0;
	const struct held *held = *at < slots ? held_next(&ledger->held, at) : NULL;
	uint32_t site;

	if (!held) {
		if (*at < slots)
			*at = slots;
		return mapping_held(ledger, (*at)++ - slots, result);
	}
	site = ledger->items.items[held->site].site;
	*result = (struct ledger_held){
		.site = site,
		.class = held->class,
		.is_part = sites_at(&ledger->sites, site)->is_part,
		.object = held->object,
		.bytes = size_of(&ledger->classes[held->class], held->size),
		.item = &ledger->items.items[held->site],
	};
	return true;
}

/* ---- tallies ---- */

static void *entry_of(struct ledger_tally *tally, int whose, size_t index)
{
	size_t capacity = tally->capacities[whose] ? tally->capacities[whose] : 256;

	if (index >= tally->capacities[whose]) {
		char *entries;

		while (capacity <= index)
			capacity *= 2;
		entries = realloc(tally->entries[whose], capacity * tally->size);
		if (!entries)
			return NULL;
		tally->entries[whose] = entries;
		tally->capacities[whose] = capacity;
	}
	if (index >= tally->counts[whose]) {
		memset(tally->entries[whose] + tally->counts[whose] * tally->size, 0,
		       (index + 1 - tally->counts[whose]) * tally->size);
		tally->counts[whose] = index + 1;
	}
	return tally->entries[whose] + index * tally->size;
}

void *ledger_entry(struct ledger_tally *tally, uint32_t site)
{
	if (site < tally->counts[OF_PROCESS])
		return tally->entries[OF_PROCESS] + site * tally->size;
	return entry_of(tally, OF_PROCESS, site);
}

void *ledger_entry_of_place(const struct ledger_tally *tally, uint32_t place)
{
	return place < tally->counts[OF_RUN] ? tally->entries[OF_RUN] + place * tally->size : NULL;
}

void ledger_tally(struct ledger *ledger, struct ledger_tally *tally)
{
	ledger->tallies[ledger->tally_count++] = tally;
}

void ledger_listen(struct ledger *ledger, ledger_listener *listener, void *user)
{
	ledger->listeners[ledger->listener_count++] = (struct listener){ listener, user };
}

/* ---- places of the run ---- */

struct place_key {
	const struct ledger *ledger;
	struct ledger_place place;
};

/* Places stand in the table by their index + 1, since their array moves. */
static bool is_place(const void *item, const void *key)
{
	const struct place_key *wanted = key;
	const struct ledger_place *place = &wanted->ledger->places.items[(uintptr_t)item - 1];

	return place->class == wanted->place.class && place->is_part == wanted->place.is_part &&
	       place->backtrace == wanted->place.backtrace &&
	       (place->backtrace->count || !strcmp(place->function, wanted->place.function));
}

/* Index + 1 of the place of a site; 0: no memory. */
static uint32_t place_of(struct ledger *ledger, const struct site *site)
{
	struct place_key key = {
		.ledger = ledger,
		.place = { .class = site->class,
			   .is_part = site->is_part,
			   .backtrace =
				   atlas_backtrace(ledger->atlas, site->backtrace, site->index),
			   .function = site->function->name },
	};
	uint64_t hash =
		hash_two(ledger->places_by_key.seed, (uintptr_t)key.place.backtrace, site->class);
	struct ledger_place *place;
	void *found;

	if (!key.place.backtrace)
		return 0;
	found = table_find(&ledger->places_by_key, hash, is_place, &key);
	if (found)
		return (uint32_t)(uintptr_t)found;
	place = ARRAY_ADD(&ledger->places);
	if (!place)
		return 0;
	*place = key.place;
	place->function = pool_text(&ledger->pool, key.place.function, strlen(key.place.function));
	if (!place->function ||
	    table_add(&ledger->places_by_key, hash, (void *)(uintptr_t)ledger->places.count))
		return 0;
	return (uint32_t)ledger->places.count;
}

static int merge_site(struct ledger *ledger, uint32_t site)
{
	uint32_t place = place_of(ledger, sites_at(&ledger->sites, site));

	if (!place)
		return -ENOMEM;
	for (unsigned i = 0; i < ledger->tally_count; i++) {
		struct ledger_tally *tally = ledger->tallies[i];
		void *run = site < tally->counts[OF_PROCESS] ? entry_of(tally, OF_RUN, place - 1)
							     : NULL;

		if (site >= tally->counts[OF_PROCESS])
			continue;
		if (!run)
			return -ENOMEM;
		tally->merge(tally->user, run, tally->entries[OF_PROCESS] + site * tally->size);
	}
	return 0;
}

/* ---- begin and end ---- */

static void free_arguments(struct ledger *ledger)
{
	for (size_t i = 1; i < ledger->items.count; i++)
		free(ledger->items.items[i].arguments);
}

static void forget_process(struct ledger *ledger)
{
	free_arguments(ledger);
	held_free(&ledger->held);
	held_free(&ledger->thread_table);
	mapped_free(&ledger->mapped);
	sites_clear(&ledger->sites);
	ledger->items.count = ledger->threads.count = 0;
	ledger->spare = 0;
	ledger->class_of.count = 0;
	memset(ledger->remembered, 0, sizeof(ledger->remembered));
	for (unsigned i = 0; i < ledger->tally_count; i++)
		ledger->tallies[i]->counts[OF_PROCESS] = 0;
}

int ledger_close(struct ledger *ledger, struct error *err)
{
	int rc = 0;

	for (uint32_t i = 1; rc == 0 && i < ledger->sites.list.count; i++)
		rc = merge_site(ledger, i);
	forget_process(ledger);
	return rc ? no_memory(err) : 0;
}

int ledger_create(struct ledger **ledger, struct atlas *atlas, struct error *err)
{
	*ledger = calloc(1, sizeof(**ledger));
	if (!*ledger)
		return no_memory(err);
	(*ledger)->atlas = atlas;
	held_init(&(*ledger)->held);
	held_init(&(*ledger)->thread_table);
	table_init(&(*ledger)->places_by_key);
	return 0;
}

void ledger_destroy(struct ledger *ledger)
{
	if (!ledger)
		return;
	forget_process(ledger);
	for (unsigned i = 0; i < ledger->tally_count; i++) {
		free(ledger->tallies[i]->entries[OF_PROCESS]);
		free(ledger->tallies[i]->entries[OF_RUN]);
	}
	sites_free(&ledger->sites);
	table_free(&ledger->places_by_key);
	pool_free(&ledger->pool);
	free(ledger->class_of.items);
	free(ledger->items.items);
	free(ledger->threads.items);
	free(ledger->places.items);
	free(ledger);
}

uint32_t ledger_places(const struct ledger *ledger)
{
	return (uint32_t)ledger->places.count;
}

const struct ledger_place *ledger_place(const struct ledger *ledger, uint32_t place)
{
	return &ledger->places.items[place];
}

uint32_t ledger_class_count(const struct ledger *ledger)
{
	return ledger->class_count;
}

const struct ledger_class *ledger_class(const struct ledger *ledger, uint32_t class)
{
	return &ledger->classes[class];
}
