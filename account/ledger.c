/* SPDX-License-Identifier: MIT */
#include "account/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account/mapped.h"
#include "base/array.h"
#include "base/memory.h"
#include "hook_table.h"
#include "notes.h"
#include "settings.h"

#define COUNT_MAX	   0xffffffu
#define THREADS_REMEMBERED 64u
#define TURN_NEVER \
	(1u << 31) /* `turn` of an object from ledger_carry(), which is never temporary */

/*
 * The kinds of keys in the map. A kind below LEDGER_CLASSES is a class: the key is an object, the
 * value its item.
 */
enum {
	OF_THREAD = LEDGER_CLASSES,
	OF_JOIN,
	OF_INHERITED,
	OF_LAST_READER, /* key: a lock; value: item of the reader that locked it last */
	/* OF_READER + index of a thread; key: a lock that this thread holds for reading */
	OF_READER,
};

struct listener {
	ledger_listener *function;
	void *user;
};

/* The last acquisition, or the last release, that a thread made. */
struct last {
	uint64_t object, call;
	uint32_t class;
};

struct thread {
	uint32_t id;	/* the kernel's thread id */
	uint32_t index; /* index of the thread in ledger->threads */
	uint32_t turns; /* number of calls so far */
	struct last acquisition, loss;
};

/*
 * Functions that run for every event are inlined, so that the members of struct call stay in
 * registers.
 */
#define inline_ static inline __attribute__((always_inline))

/* A call that acquires (item is not 0) or releases an object. */
struct call {
	uint64_t object, time_ns;
	size_t home; /* position of the object in the map, if the call is in the queue */
	uint32_t class, item, thread, turn;
	bool is_plain; /* see is_plain(); a constant in each inlined copy */
	bool is_no_call, is_join, is_again;
	bool is_shared;		   /* a lock that the call acquires for reading */
	const struct event *event; /* NULL: the call was in the queue (no listeners) */
};

/*
 * If there are no listeners, calls wait in a queue until the memory that they need has been
 * prefetched. Live objects are usually spread over more memory than fits into a cache.
 */
#define QUEUE_LENGTH 8u
/* minimum number of live objects for the use of the queue; fewer fit into the cache */
#define QUEUE_FROM 32768u

struct ledger {
	struct pool pool; /* memory for the names of classes */
	struct ledger_class classes[LEDGER_CLASSES];
	uint32_t class_count;
	ARRAY_OF(uint8_t)
	class_of; /* indexed by class id of the trace: index in `classes` + 1; 0: unknown */
	const struct resource_class *memory; /* class of plain calls, see is_plain(); NULL: none */
	uint32_t memory_class;		     /* index of that class in `classes` */
	struct listener listeners[LEDGER_LISTENERS];
	unsigned listener_count;
	bool keeps_all_arguments;

	/* data of the current process */
	struct ledger_sum sums[LEDGER_CLASSES];
	struct map map;			    /* see the kinds of keys above */
	ARRAY_OF(struct ledger_item) items; /* indices start at 1 */
	uint32_t spare;			    /* first item of the free list; 0: none */
	struct mapped mapped;		    /* ranges of mappings, with their items */
	struct before before;		    /* ranges that the process had mapped at the attach */
	struct sites sites;
	ARRAY_OF(struct thread) threads;
	uint32_t remembered[THREADS_REMEMBERED]; /* cache: index in `threads` + 1 */
	uint32_t last_id;	    /* kernel's id of the thread that was looked up last */
	struct thread *last_thread; /* NULL: none was looked up */
	uint64_t inherited; /* descriptors that the program inherited and that are still open */
	bool is_attached;   /* the recording attached to the process after it had started */
	uint64_t sample; /* mean bytes between two samples of memory; 0: all blocks were recorded */
	bool is_contended;	  /* only locks that a thread had to wait for were recorded */
	bool is_replaced;	  /* the process executed another program */
	uint32_t sites_of_parent; /* sites below this index are the parent's; 0: none */
	struct call queue[QUEUE_LENGTH];
	unsigned queued, oldest;
	size_t queue_from; /* QUEUE_FROM; SIZE_MAX if there are listeners */
	/*
	 * The call that is passed to listeners. If it were on the stack, the functions below would
	 * be slower even without listeners.
	 */
	struct call told;
	struct estimate told_of;
};

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

static uint32_t find_class(struct ledger *ledger, enum resource known, const char *type,
			   const char *description, bool is_counted)
{
	struct ledger_class *class;
	uint32_t i;

	for (i = 0; i < ledger->class_count; i++)
		if (ledger->classes[i].known == known &&
		    (known || !strcmp(ledger->classes[i].type, type)))
			return i;
	if (i == LEDGER_CLASSES)
		return i - 1;
	class = &ledger->classes[i];
	if (i == LEDGER_CLASSES - 1)
		type = "other";
	description = description ? description : "";
	*class = (struct ledger_class){
		.known = known,
		.type = pool_text(&ledger->pool, type, strlen(type)),
		.description = pool_text(&ledger->pool, description, strlen(description)),
		.is_counted = is_counted,
		.has_bytes = known == RESOURCE_MEMORY || known == RESOURCE_MAPPING ||
			     known == RESOURCE_SEGMENT,
		.is_estimate = known == RESOURCE_MEMORY && ledger->sample,
		.rank = ledger_rank(known),
	};
	return ledger->class_count++;
}

/* Finds or adds the class of a resource of the trace. */
static uint32_t learn_class(struct ledger *ledger, const struct resource_class *resource)
{
	uint8_t *place = ARRAY_AT(&ledger->class_of, resource->id);
	uint32_t class;

	class = find_class(ledger, resource->known, *resource->type ? resource->type : "object",
			   resource->description, resource->flags & 1);
	*place = (uint8_t)(class + 1);
	if (ledger->classes[class].known == RESOURCE_MEMORY && !ledger->classes[class].is_counted &&
	    !ledger->sample) {
		ledger->memory = resource;
		ledger->memory_class = class;
	}
	return class;
}

static inline uint32_t class_of(struct ledger *ledger, const struct resource_class *resource)
{
	if (resource->id < ledger->class_of.count && ledger->class_of.items[resource->id])
		return ledger->class_of.items[resource->id] - 1u;
	return learn_class(ledger, resource);
}

uint32_t ledger_class_of(struct ledger *ledger, enum resource known)
{
	const struct resource_facts *facts = &resource_table[known];

	return find_class(ledger, known, facts->type, facts->description, facts->flags & 1);
}

/* ---- threads ---- */

static __attribute__((noinline)) struct thread *find_thread(struct ledger *ledger, uint32_t id)
{
	uint32_t *remembered = &ledger->remembered[id % THREADS_REMEMBERED];

	if (!*remembered || ledger->threads.items[*remembered - 1].id != id) {
		struct map_entry *entry = map_put(&ledger->map, OF_THREAD, id);

		if (!entry->value) {
			struct thread *thread = ARRAY_ADD(&ledger->threads);

			entry->value = (uint32_t)ledger->threads.count;
			*thread = (struct thread){ .id = id, .index = entry->value - 1 };
		}
		*remembered = entry->value;
	}
	ledger->last_id = id;
	ledger->last_thread = &ledger->threads.items[*remembered - 1];
	return ledger->last_thread;
}

/*
 * The thread with this id, added if necessary. The pointer is valid until the next call to this
 * function.
 */
inline_ struct thread *thread_of(struct ledger *ledger, uint32_t id)
{
	return ledger->last_thread && id == ledger->last_id ? ledger->last_thread
							    : find_thread(ledger, id);
}

uint32_t ledger_thread(const struct ledger *ledger, uint32_t thread)
{
	return ledger->threads.items[thread].id;
}

/*
 * True if the event repeats the thread's last acquisition. reallocarray() calls realloc(), and
 * events of both acquire the same block. The event of the inner call comes first, so the event of
 * the outer call, which has the lower number, is the repetition.
 */
static inline bool is_acquired_again(struct thread *thread, const struct event *event,
				     uint32_t class)
{
	const struct last *last = &thread->acquisition;

	if (last->call > event->call && last->object == event->object && last->class == class)
		return event->has_tail;
	if (event->depth)
		thread->acquisition = (struct last){ event->object, event->call, class };
	return false;
}

/*
 * True if the event repeats the thread's last release. For releases, the event of the outer call
 * comes first, so the event of the inner call is the repetition.
 */
static inline bool is_lost_again(struct thread *thread, const struct event *event, uint32_t class)
{
	const struct last *last = &thread->loss;

	if (event->depth && last->call && event->call > last->call &&
	    last->object == event->object && last->class == class)
		return true;
	if (event->moment == MOMENT_HALF)
		thread->loss = (struct last){ event->object, event->call, class };
	return false;
}

/* ---- items ---- */

static inline uint32_t new_item(struct ledger *ledger)
{
	uint32_t index = ledger->spare;

	if (index) {
		ledger->spare = ledger->items.items[index].site;
		return index;
	}
	ARRAY_ADD(&ledger->items);
	/* Index 0 means "none". */
	if (ledger->items.count == 1)
		ARRAY_ADD(&ledger->items);
	if (ledger->items.count >= UINT32_MAX)
		memory_none();
	return (uint32_t)ledger->items.count - 1;
}

static inline void remove_item(struct ledger *ledger, uint32_t index)
{
	struct ledger_item *item = &ledger->items.items[index];

	if (item->arguments) {
		free(item->arguments);
		item->arguments = NULL;
	}
	item->count = 0;
	item->site = ledger->spare;
	ledger->spare = index;
}

/* Returns the index of a new item for the object that the event acquires. */
inline_ uint32_t add_item(struct ledger *ledger, const struct call *call)
{
	const struct event *event = call->event;
	bool has_arguments = !call->is_plain && event->argument_count &&
			     (ledger->keeps_all_arguments ||
			      ledger->classes[call->class].known != RESOURCE_MEMORY);
	uint32_t site = sites_of_again(&ledger->sites, (uint8_t)call->class, event);
	uint32_t index = new_item(ledger);

	ledger->items.items[index] = (struct ledger_item){
		.object = event->object,
		.size = event->size,
		.index = event->index,
		.acquired_ns = event->time_ns,
		.site = site,
		.thread = call->thread,
		.turn = call->turn,
		.context = event->context,
		.time_ms = event->time_ms,
		.count = 1,
	};
	if (has_arguments)
		ledger->items.items[index].arguments = keep_arguments(event);
	return index;
}

/* A mapping was cut in two: copies its item for the second half. */
static uint32_t copy_item(struct ledger *ledger, uint32_t original)
{
	uint32_t index = new_item(ledger);
	struct ledger_item *item = &ledger->items.items[index];
	struct event call = { .arguments = ledger->items.items[original].arguments };

	*item = ledger->items.items[original];
	while (call.arguments && call.arguments[call.argument_count].name)
		call.argument_count++;
	item->arguments = call.arguments ? keep_arguments(&call) : NULL;
	return index;
}

const char *ledger_path(const struct ledger_item *item)
{
	const char *name = NULL;

	for (const struct wire_value *at = item->arguments; at && at->name; at++) {
		if (!strcmp(at->name, "path") && *at->value)
			return at->value;
		if (!strcmp(at->name, "name") && *at->value)
			name = at->value;
	}
	return name;
}

const char *ledger_describe(const struct ledger_item *item, char *text, size_t size)
{
	const char *path = ledger_path(item);
	size_t length = 0;

	*text = '\0';
	if (path)
		snprintf(text, size, "%s", path);
	for (const struct wire_value *at = item->arguments;
	     !path && at && at->name && length < size; at++) {
		int added = snprintf(text + length, size - length, "%s%s=%s", length ? " " : "",
				     at->name, at->value);

		length += added > 0 ? (size_t)added : 0;
	}
	return text;
}

/* ---- moves ---- */

/* How many objects and bytes the item represents. A sampled block may represent several blocks. */
inline_ struct estimate weigh(const struct ledger *ledger, uint32_t class,
			      const struct ledger_item *item)
{
	const struct ledger_class *facts = &ledger->classes[class];

	if (__builtin_expect(ledger->sample && facts->known == RESOURCE_MEMORY, 0))
		return estimate_block(ledger->sample, item->size, item->index);
	return (struct estimate){ .count = 1,
				  .bytes = facts->has_bytes || facts->known == RESOURCE_NONE
						   ? item->size
						   : 0 };
}

inline_ struct estimate weigh_for(const struct ledger *ledger, const struct call *call,
				  const struct ledger_item *item)
{
	if (call->is_plain)
		return (struct estimate){ .count = 1, .bytes = item->size };
	return weigh(ledger, call->class, item);
}

static struct ledger_move move_of(const struct ledger *ledger, const struct call *call,
				  uint32_t item)
{
	const struct ledger_item *of = &ledger->items.items[item];

	return (struct ledger_move){
		.site = of->site,
		.class = call->class,
		.is_part = sites_at(&ledger->sites, of->site)->is_part,
		.is_no_call = call->is_no_call,
		.item = of,
		.turn = call->turn,
		.thread = call->thread,
		.event = call->event,
	};
}

/*
 * Adds `count` and `bytes` to the sums of the call's class. To subtract, pass negative numbers
 * converted to uint64_t.
 */
inline_ void sum_up(struct ledger *ledger, const struct call *call, uint64_t count, uint64_t bytes,
		    double variance)
{
	const struct ledger_class *facts = &ledger->classes[call->class];
	struct ledger_sum *sum = &ledger->sums[call->class];
	uint64_t amount;

	sum->count += count;
	sum->bytes += bytes;
	if (!call->is_plain && __builtin_expect(facts->is_estimate, 0))
		sum->variance = sum->count ? sum->variance + variance : 0;
	amount = call->is_plain || facts->has_bytes ? sum->bytes : sum->count;
	if (amount <= sum->peak)
		return;
	sum->peak = amount;
	sum->peak_ns = call->time_ns;
	sum->peak_variance = sum->variance;
}

static void notify(struct ledger *ledger, const struct ledger_move *move)
{
	for (unsigned i = 0; i < ledger->listener_count; i++)
		ledger->listeners[i].function(ledger->listeners[i].user, move);
}

static __attribute__((noinline)) void tell_listeners(struct ledger *ledger, uint32_t item,
						     bool is_acquisition)
{
	struct ledger_move move = move_of(ledger, &ledger->told, item);
	const struct estimate *of = &ledger->told_of;

	move.is_acquisition = is_acquisition;
	move.count = is_acquisition ? (int)of->count : -(int)of->count;
	move.bytes = of->bytes;
	move.variance = of->variance;
	move.count_variance = of->count_variance;
	notify(ledger, &move);
}

inline_ void tell_loss(struct ledger *ledger, const struct call *call, uint32_t item,
		       struct estimate of)
{
	struct ledger_sum *sum = &ledger->sums[call->class];

	/* like sum_up(), but does not update the peak, since the amount only decreases */
	sum->count -= of.count;
	sum->bytes -= of.bytes;
	if (!call->is_plain)
		sum->variance = sum->count ? sum->variance - of.variance : 0;
	if (!ledger->listener_count)
		return;
	ledger->told = *call;
	ledger->told_of = of;
	tell_listeners(ledger, item, false);
}

inline_ void report_acquisition(struct ledger *ledger, const struct call *call)
{
	struct estimate of = weigh_for(ledger, call, &ledger->items.items[call->item]);

	ledger->sums[call->class].acquired += call->is_no_call ? 0 : of.count;
	if (!call->is_plain)
		ledger->sums[call->class].acquired_variance += of.count_variance;
	sum_up(ledger, call, of.count, of.bytes, of.variance);
	if (!ledger->listener_count)
		return;
	ledger->told = *call;
	ledger->told_of = of;
	tell_listeners(ledger, call->item, true);
}

inline_ void acquisition(struct ledger *ledger, const struct call *call)
{
	uint32_t kind = call->is_shared ? OF_READER + call->thread : call->class;
	struct map_entry *held = map_put(&ledger->map, kind, call->object);
	struct ledger_sum *sum = &ledger->sums[call->class];
	uint32_t before = held->value;

	if (before && call->is_again) {
		remove_item(ledger, call->item);
		return;
	}
	/*
	 * Count a repeated acquisition, except of a lock that another thread held: it may be a
	 * robust mutex whose owner has ended.
	 */
	if (before && !call->is_plain && ledger->classes[call->class].is_counted &&
	    (ledger->classes[call->class].known != RESOURCE_LOCK ||
	     ledger->items.items[before].thread == call->thread)) {
		sum->acquired += !call->is_no_call;
		struct ledger_item *item = &ledger->items.items[before];

		item->count += item->count < COUNT_MAX;
		remove_item(ledger, call->item);
		return;
	}
	held->value = call->item;
	if (call->is_shared)
		map_set(&ledger->map, OF_LAST_READER, call->object, call->item);
	if (before) {
		sum->replaced++;
		tell_loss(ledger, call, before,
			  weigh_for(ledger, call, &ledger->items.items[before]));
		remove_item(ledger, before);
	}
	report_acquisition(ledger, call);
}

/* If `fd` is an inherited descriptor, forgets it and returns true. */
static bool disinherit(struct ledger *ledger, uint64_t fd)
{
	struct map_entry *inherited = map_find(&ledger->map, OF_INHERITED, fd);

	if (!inherited)
		return false;
	map_remove(&ledger->map, inherited);
	ledger->inherited--;
	return true;
}

/*
 * True if only some calls of the class were recorded. Then a release without a recorded acquisition
 * does not count as a stray.
 */
static inline bool is_sampled(const struct ledger *ledger, uint32_t class)
{
	enum resource known = ledger->classes[class].known;

	return (ledger->sample && known == RESOURCE_MEMORY) ||
	       (ledger->is_contended && known == RESOURCE_LOCK);
}

static inline bool is_temporary(const struct ledger *ledger, const struct ledger_item *lost,
				uint32_t thread, uint32_t turn, uint64_t within)
{
	const struct site *site;
	enum resource known;

	if (lost->thread != thread || turn - lost->turn > within)
		return false;
	site = sites_at(&ledger->sites, lost->site);
	known = ledger->classes[site->class].known;
	return !site->is_part && !is_sampled(ledger, site->class) && known != RESOURCE_LOCK &&
	       known != RESOURCE_THREAD && known != RESOURCE_PROCESS;
}

bool ledger_move_is_temporary(const struct ledger *ledger, const struct ledger_move *move,
			      uint64_t within)
{
	return !move->is_acquisition && move->count < 0 &&
	       is_temporary(ledger, move->item, move->thread, move->turn, within ? within : 1);
}

static __attribute__((noinline)) void stray(struct ledger *ledger, uint32_t class, uint64_t object,
					    bool is_again)
{
	bool is_inherited = ledger->classes[class].known == RESOURCE_FD && ledger->inherited &&
			    disinherit(ledger, object);

	if (is_inherited || is_again || is_sampled(ledger, class))
		return;
	if (ledger->is_attached)
		ledger->sums[class].earlier++;
	else
		ledger->sums[class].strays++;
}

/*
 * Releases a thread when its join begins, because a new thread may get the same handle before the
 * join returns. If the join has not returned at the end of the trace, on_open() restores the
 * thread.
 */
static __attribute__((noinline)) void join_begins(struct ledger *ledger, uint32_t thread,
						  uint32_t item)
{
	uint32_t before = map_get(&ledger->map, OF_JOIN, thread);

	ledger->items.items[item].count = 0;
	if (before)
		remove_item(ledger, before);
	map_set(&ledger->map, OF_JOIN, thread, item);
}

/*
 * Called when a thread unlocks a lock that no thread holds for writing. Returns the map entry of
 * the thread's own read lock or, if it has none, the entry of the reader that locked the lock last.
 */
static __attribute__((noinline)) struct map_entry *find_reader(const struct ledger *ledger,
							       uint32_t thread, uint64_t object)
{
	struct map_entry *own = map_find(&ledger->map, OF_READER + thread, object);
	uint32_t last = map_get(&ledger->map, OF_LAST_READER, object);
	const struct ledger_item *item = &ledger->items.items[last];

	if ((own && own->value) || !last || item->object != object)
		return own;
	own = map_find(&ledger->map, OF_READER + item->thread, object);
	return own && own->value == last ? own : NULL;
}

inline_ void lose(struct ledger *ledger, const struct call *call)
{
	struct map_entry *held = map_find(&ledger->map, call->class, call->object);
	struct ledger_sum *sum = &ledger->sums[call->class];
	/* a release of an unknown object counts as 1, unless the class is sampled */
	bool is_known = call->is_plain || !is_sampled(ledger, call->class);
	struct estimate of = { .count = is_known };
	struct ledger_item *lost;
	uint32_t item;

	if (!call->is_plain && !held && ledger->classes[call->class].known == RESOURCE_LOCK)
		held = find_reader(ledger, call->thread, call->object);
	item = held ? held->value : 0;
	lost = &ledger->items.items[item];
	if (item)
		of = weigh_for(ledger, call, lost);
	if (item || !call->is_again) {
		sum->joined += call->is_join && !call->is_no_call;
		sum->lost += call->is_join || call->is_no_call ? 0 : of.count;
	}
	if (!item) {
		stray(ledger, call->class, call->object, call->is_again);
		return;
	}
	if (!call->is_plain && lost->count > 1) {
		lost->count--;
		return;
	}
	sum->temporary += is_temporary(ledger, lost, call->thread, call->turn, 1);
	map_remove(&ledger->map, held);
	tell_loss(ledger, call, item, of);
	if (call->is_join && call->is_no_call)
		join_begins(ledger, call->thread, item);
	else
		remove_item(ledger, item);
}

static __attribute__((noinline)) void settle_call(struct ledger *ledger, const struct call *call)
{
	if (call->item)
		acquisition(ledger, call);
	else
		lose(ledger, call);
}

/* ---- calls in the queue ---- */

static void settle_oldest(struct ledger *ledger)
{
	const struct call *call = &ledger->queue[ledger->oldest];

	ledger->oldest = (ledger->oldest + 1) % QUEUE_LENGTH;
	ledger->queued--;
	settle_call(ledger, call);
}

/* Processes the delayed calls. */
static void settle(struct ledger *ledger)
{
	while (ledger->queued)
		settle_oldest(ledger);
}

static inline bool puts_off(const struct ledger *ledger)
{
	return ledger->map.count >= ledger->queue_from;
}

/*
 * Prepares the queue for the next call. If the call will be added to the queue and the queue is
 * full, processes the oldest call. If the call will be processed immediately, processes all calls
 * in the queue first, to keep the order.
 */
static inline void make_way(struct ledger *ledger, bool puts_off)
{
	if (!puts_off)
		settle(ledger);
	else if (ledger->queued == QUEUE_LENGTH)
		settle_oldest(ledger);
}

static inline void put_off(struct ledger *ledger, const struct call *call)
{
	unsigned newest = (ledger->oldest + ledger->queued) % QUEUE_LENGTH;
	struct call *place = &ledger->queue[newest];
	const struct call *before = &ledger->queue[(newest + QUEUE_LENGTH - 2) % QUEUE_LENGTH];

	*place = *call;
	place->event = NULL;
	ledger->queued++;
	if (!ledger->map.entries)
		return;
	/*
	 * prefetches the map entry of this call, and the item of an earlier call whose map entry is
	 * in the cache by now
	 */
	place->home = map_home(&ledger->map, place->class, place->object);
	__builtin_prefetch(&ledger->map.entries[place->home]);
	if (ledger->queued > 2)
		__builtin_prefetch(&ledger->items.items[ledger->map.entries[before->home].value]);
}

/* ---- mappings ---- */

/*
 * End of the range that the event unmaps, rounded up to whole pages. An event with size 0 unmaps
 * the whole range that begins at its address.
 */
static uint64_t end_of_loss(const struct ledger *ledger, const struct event *event)
{
	uint64_t start = event->object, end = start + event->size;
	const struct mapped_range *range = event->size ? NULL : mapped_at(&ledger->mapped, start);

	if (range)
		return range->end;
	return start % 4096 == 0 ? (end + 4095) / 4096 * 4096 : end;
}

static void remove_mapping(struct ledger *ledger, const struct call *call)
{
	uint64_t start = call->object, end = end_of_loss(ledger, call->event);
	struct mapped_piece piece;

	while (mapped_cut(&ledger->mapped, start, end, &piece)) {
		struct ledger_move move = move_of(ledger, call, piece.item);

		move.count = piece.ranges;
		move.bytes = piece.bytes;
		sum_up(ledger, call, (uint64_t)(int64_t)piece.ranges, -piece.bytes, 0);
		notify(ledger, &move);
		if (piece.ranges < 0)
			remove_item(ledger, piece.item);
		if (piece.ranges > 0)
			mapped_at(&ledger->mapped, piece.end)->item = copy_item(ledger, piece.item);
	}
}

static __attribute__((noinline)) void map_or_unmap(struct ledger *ledger, struct call call)
{
	struct before *before = &ledger->before;
	uint64_t calls = before->calls, end = call.object + call.event->size;

	if (call.event->type == CALL_TYPE_FREE) {
		ledger->sums[call.class].lost++;
		/* the call may unmap ranges that were mapped before the attach */
		before_cut(before, call.object, end_of_loss(ledger, call.event), true);
		ledger->sums[call.class].earlier += before->calls - calls;
		remove_mapping(ledger, &call);
		return;
	}
	if (end <= call.object) {
		ledger->sums[call.class].acquired++;
		return;
	}
	/* removes the older ranges at these addresses: their unmapping was not recorded */
	remove_mapping(ledger, &call);
	before_cut(before, call.object, end, false);
	call.item = add_item(ledger, &call);
	if (mapped_add(&ledger->mapped, call.object, end, call.item))
		report_acquisition(ledger, &call);
	else
		remove_item(ledger, call.item);
}

/* ---- events ---- */

/*
 * True for an event that is part of a wait and not counted as a call: a wait for a condition
 * unlocks and locks the mutex, and a join that times out restores the thread. Checks the event's
 * function, since old streams do not show which events are parts of a call.
 */
static bool is_of_wait(enum resource known, const struct event *event)
{
	const struct hook *hook = event->function->hook;

	return (known == RESOURCE_LOCK || known == RESOURCE_THREAD) && hook &&
	       hook->operation == OPERATION_WAIT;
}

/*
 * True if the function releases a thread by joining it, as pthread_tryjoin_np() does, not by
 * detaching it.
 */
static bool is_join(enum resource known, const struct event *event)
{
	const struct hook *hook = event->function->hook;

	return known == RESOURCE_THREAD && hook && hook->how == HOW_JOINS;
}

inline_ void acquire_or_release(struct ledger *ledger, struct call *call, struct thread *thread,
				bool puts_off)
{
	const struct event *event = call->event;
	enum resource known = call->is_plain ? RESOURCE_MEMORY : ledger->classes[call->class].known;

	if (known == RESOURCE_MAPPING) {
		map_or_unmap(ledger, *call);
		return;
	}
	if (event->type == CALL_TYPE_FREE) {
		call->is_no_call = is_of_wait(known, event);
		call->is_join = is_join(known, event);
		call->is_again = !call->is_plain && is_lost_again(thread, event, call->class);
		if (puts_off)
			put_off(ledger, call);
		else
			lose(ledger, call);
		return;
	}
	call->is_no_call = is_of_wait(known, event);
	call->is_shared = known == RESOURCE_LOCK && event->function->hook &&
			  event->function->hook->how == HOW_READS;
	ledger->sums[call->class].retaken += call->is_no_call;
	call->is_again = is_acquired_again(thread, event, call->class);
	call->item = add_item(ledger, call);
	if (known == RESOURCE_FD && ledger->inherited)
		disinherit(ledger, call->object);
	if (puts_off)
		put_off(ledger, call);
	else
		acquisition(ledger, call);
}

/*
 * True if the event allocates or frees a block of memory, outside any other hooked call, in a
 * process whose memory is not sampled. Nearly all calls are plain, and for them the compiler can
 * evaluate most conditions.
 */
static inline bool is_plain(const struct ledger *ledger, const struct event *event)
{
	return event->resource == ledger->memory && event->is_simple && !event->depth;
}

/* Inlined together with its callees, because a report spends most of its time here. */
inline_ void on_call(struct ledger *ledger, const struct event *event, bool is_plain, bool is_later)
{
	struct thread *thread = thread_of(ledger, event->thread);
	struct call call;

	/* Counts a call once, although it may have two halves and several parts. */
	thread->turns += is_plain || (!event->part && event->moment != MOMENT_HALF);
	if (!is_plain && (event->type == CALL_TYPE_NONE || event->flags & CALL_FAILED))
		return;
	call = (struct call){ .object = event->object,
			      .time_ns = event->time_ns,
			      .class = is_plain ? ledger->memory_class
						: class_of(ledger, event->resource),
			      .is_plain = is_plain,
			      .thread = thread->index,
			      .turn = thread->turns,
			      .event = event };
	acquire_or_release(ledger, &call, thread, is_later);
}

/*
 * Not inlined, so that the general case and the plain case each have their own copy of on_call().
 */
static __attribute__((noinline)) void on_any_call(struct ledger *ledger, const struct event *event)
{
	bool is_later = puts_off(ledger);

	make_way(ledger, is_later);
	on_call(ledger, event, false, is_later);
}

static __attribute__((noinline)) void put_off_plain_call(struct ledger *ledger,
							 const struct event *event)
{
	bool is_later = puts_off(ledger);

	make_way(ledger, is_later);
	on_call(ledger, event, true, is_later);
}

static __attribute__((noinline)) void on_plain_call(struct ledger *ledger,
						    const struct event *event)
{
	on_call(ledger, event, true, false);
}

/*
 * Handles a call that has not returned at the end of the trace. If the call is a join, the awaited
 * thread is live again, because the join did not release it.
 */
static void on_open(struct ledger *ledger, const struct event *event)
{
	uint32_t thread = thread_of(ledger, event->thread)->index;
	uint32_t item = map_get(&ledger->map, OF_JOIN, thread);
	struct call call = { .object = event->object,
			     .time_ns = event->time_ns,
			     .thread = thread,
			     .item = item,
			     .is_no_call = true,
			     .event = event };

	if (!item || ledger->items.items[item].object != event->object)
		return;
	call.class = sites_at(&ledger->sites, ledger->items.items[item].site)->class;
	call.turn = ledger->threads.items[thread].turns;
	map_set(&ledger->map, OF_JOIN, thread, 0);
	ledger->items.items[item].count = 1;
	settle_call(ledger, &call);
}

static void on_settings(struct ledger *ledger, const struct event *event)
{
	const char *sample = event_argument(event, "sample");
	const char *locks = event_argument(event, "locks");

	ledger->is_contended = locks && !strcmp(locks, "contended");
	/*
	 * ignores `sample` if blocks were counted before, since the weights must be the same in the
	 * whole stream
	 */
	for (uint32_t i = 0; i < ledger->class_count; i++)
		if (ledger->classes[i].known == RESOURCE_MEMORY && ledger->sums[i].acquired)
			return;
	ledger->sample = sample ? strtoull(sample, NULL, 10) : 0;
	if (ledger->sample > SETTINGS_SAMPLE_MAX)
		ledger->sample = SETTINGS_SAMPLE_MAX;
	if (ledger->sample)
		ledger->memory = NULL;
	for (uint32_t i = 0; ledger->sample && i < ledger->class_count; i++)
		ledger->classes[i].is_estimate |= ledger->classes[i].known == RESOURCE_MEMORY;
}

void ledger_carry(struct ledger *ledger, const struct event *opened, const struct event *note)
{
	struct call call = { .object = opened->object,
			     .time_ns = note->time_ns,
			     .class = ledger_class_of(ledger, RESOURCE_FD),
			     .thread = thread_of(ledger, note->thread)->index,
			     .turn = TURN_NEVER,
			     .is_no_call = true,
			     .event = opened };

	settle(ledger);
	call.item = add_item(ledger, &call);
	call.event = note;
	acquisition(ledger, &call);
}

static __attribute__((noinline)) void on_note(struct ledger *ledger, const struct event *event)
{
	const char *fd;

	if (!strcmp(event->function->name, NOTE_OPEN)) {
		settle(ledger);
		on_open(ledger, event);
	}
	if (!strcmp(event->function->name, NOTE_END)) {
		const char *how = event_argument(event, "how");

		ledger->is_replaced = how && !strcmp(how, "exec");
	}
	ledger->is_attached |= !strcmp(event->function->name, NOTE_ATTACHED);
	if (!strcmp(event->function->name, NOTE_SETTINGS))
		on_settings(ledger, event);
	if (!strcmp(event->function->name, NOTE_MAPPED))
		before_add(&ledger->before, event);
	if (strcmp(event->function->name, NOTE_FD) != 0)
		return;
	fd = event_argument(event, "fd");
	if (!fd || map_get(&ledger->map, OF_INHERITED, strtoull(fd, NULL, 0)))
		return;
	ledger->inherited++;
	map_set(&ledger->map, OF_INHERITED, strtoull(fd, NULL, 0), 1);
}

void ledger_event(struct ledger *ledger, const struct event *event)
{
	if (is_plain(ledger, event)) {
		if (ledger->queued || puts_off(ledger))
			put_off_plain_call(ledger, event);
		else
			on_plain_call(ledger, event);
	} else if (event->kind == EVENT_CALL) {
		on_any_call(ledger, event);
	} else if (event->kind == EVENT_NOTE) {
		on_note(ledger, event);
	}
}

/* ---- live objects ---- */

static bool mapping_held(const struct ledger *ledger, size_t index, struct ledger_held *held)
{
	const struct mapped_range *range;

	if (index >= ledger->mapped.count)
		return false;
	range = &ledger->mapped.items[index];
	*held = (struct ledger_held){
		.item = &ledger->items.items[range->item],
		.object = range->start,
		.bytes = range->end - range->start,
	};
	held->size = held->bytes;
	held->count = 1;
	held->site = held->item->site;
	held->class = sites_at(&ledger->sites, held->site)->class;
	held->is_of_parent = held->site < ledger->sites_of_parent;
	return true;
}

/*
 * Sets *result to the next live object at or after *at, in the order of the items, because the
 * order of the map is random.
 */
static bool next_object(struct ledger *ledger, size_t *at, struct ledger_held *result)
{
	const struct ledger_item *item;
	const struct site *site;
	struct estimate of;

	if (*at == 0)
		settle(ledger);
	*at += *at == 0;
	do {
		if (*at >= ledger->items.count)
			return false;
		item = &ledger->items.items[(*at)++];
		site = sites_at(&ledger->sites, item->site);
		/* mappings are left to mapping_held(), which lists each of their ranges */
	} while (!item->count || ledger->classes[site->class].known == RESOURCE_MAPPING);
	*result = (struct ledger_held){
		.item = item,
		.site = item->site,
		.class = site->class,
		.is_part = site->is_part,
		.is_of_parent = item->site < ledger->sites_of_parent,
		.object = item->object,
		.size = item->size,
	};
	of = weigh(ledger, result->class, item);
	result->count = of.count;
	result->bytes = of.bytes;
	result->variance = of.variance;
	result->count_variance = of.count_variance;
	return true;
}

bool ledger_held(struct ledger *ledger, size_t *at, struct ledger_held *result)
{
	size_t count = ledger->items.count;

	if (ledger->is_replaced)
		return false;
	return next_object(ledger, at, result) ||
	       mapping_held(ledger, (*at)++ - (count ? count : 1), result);
}

bool ledger_is_replaced(const struct ledger *ledger)
{
	return ledger->is_replaced;
}

bool ledger_passed(struct ledger *ledger, size_t *at, struct ledger_held *result)
{
	while (ledger->is_replaced && next_object(ledger, at, result))
		if (ledger->classes[result->class].known == RESOURCE_FD)
			return true;
	return false;
}

bool ledger_mapped(struct ledger *ledger, size_t *at, struct ledger_held *result)
{
	settle(ledger);
	return mapping_held(ledger, (*at)++, result);
}

const struct ledger_item *ledger_find(struct ledger *ledger, enum resource known, uint64_t object)
{
	uint32_t item, class = 0;

	settle(ledger);
	while (class < ledger->class_count && ledger->classes[class].known != known)
		class ++;
	item = map_get(&ledger->map, class, object);
	return item ? &ledger->items.items[item] : NULL;
}

bool ledger_releases(struct ledger *ledger, const struct event *event)
{
	uint32_t class = class_of(ledger, event->resource);
	const struct thread *thread;

	settle(ledger);
	if (ledger->classes[class].known == RESOURCE_MAPPING)
		return mapped_meets(&ledger->mapped, event->object, end_of_loss(ledger, event));
	if (map_get(&ledger->map, class, event->object))
		return true;
	thread = thread_of(ledger, event->thread);
	return ledger->classes[class].known == RESOURCE_LOCK &&
	       find_reader(ledger, thread->index, event->object);
}

uint64_t ledger_sample(const struct ledger *ledger)
{
	return ledger->sample;
}

const struct before *ledger_before(const struct ledger *ledger)
{
	return &ledger->before;
}

uint64_t ledger_inherited(const struct ledger *ledger)
{
	return ledger->inherited;
}

/* ---- descriptors that stay open over an exec ---- */

size_t passed_to(const struct passed_stream *streams, size_t count, size_t i, uint64_t fd)
{
	while (fd > 2 && i < count && ledger_is_replaced(streams[i].ledger)) {
		const struct trace_process *before = streams[i].process;
		size_t next = count;

		for (size_t j = 0; j < count; j++) {
			const struct trace_process *process = streams[j].process;

			if (process->pid == before->pid && process->start_ns > before->start_ns &&
			    (next == count || process->start_ns < streams[next].process->start_ns))
				next = j;
		}
		i = next;
		if (i < count && !map_get(&streams[i].ledger->map, OF_INHERITED, fd))
			return count;
	}
	return fd > 2 ? i : count;
}

/* ---- begin and end ---- */

void ledger_forget(struct ledger *ledger)
{
	for (size_t i = 1; i < ledger->items.count; i++)
		free(ledger->items.items[i].arguments);
	ARRAY_CLEAR(&ledger->items);
	map_clear(&ledger->map);
	mapped_free(&ledger->mapped);
	ledger->spare = 0;
}

void ledger_clear(struct ledger *ledger)
{
	ledger_forget(ledger);
	before_free(&ledger->before);
	sites_clear(&ledger->sites);
	memset(ledger->sums, 0, sizeof(ledger->sums));
	memset(ledger->remembered, 0, sizeof(ledger->remembered));
	ledger->threads.count = ledger->class_of.count = 0;
	ledger->memory = NULL;
	ledger->last_thread = NULL;
	ledger->queued = ledger->oldest = 0;
	ledger->inherited = ledger->sample = 0;
	ledger->is_attached = false;
	ledger->is_replaced = ledger->is_contended = false;
	ledger->sites_of_parent = 0;
}

/*
 * In the child's trace, classes and backtraces have other numbers, so the child gets its own sites.
 */
void ledger_fork(struct ledger *ledger)
{
	settle(ledger);
	sites_seal(&ledger->sites);
	ledger->sites_of_parent = (uint32_t)ledger->sites.list.count;
	ledger->class_of.count = 0;
	ledger->memory = NULL;
	ledger->is_replaced = ledger->is_contended = false;
}

struct ledger *ledger_create(bool keeps_all_arguments)
{
	struct ledger *ledger = memory_zalloc(1, sizeof(*ledger));

	ledger->keeps_all_arguments = keeps_all_arguments;
	map_init(&ledger->map);
	ledger->queue_from = QUEUE_FROM;
	return ledger;
}

void ledger_destroy(struct ledger *ledger)
{
	if (!ledger)
		return;
	ledger_clear(ledger);
	sites_free(&ledger->sites);
	pool_free(&ledger->pool);
	free(ledger->class_of.items);
	free(ledger->items.items);
	free(ledger->threads.items);
	free(ledger);
}

void ledger_listen(struct ledger *ledger, ledger_listener *listener, void *user)
{
	ledger->listeners[ledger->listener_count++] = (struct listener){ listener, user };
	ledger->queue_from = SIZE_MAX;
}

const struct sites *ledger_sites(const struct ledger *ledger)
{
	return &ledger->sites;
}

uint32_t ledger_class_count(const struct ledger *ledger)
{
	return ledger->class_count;
}

const struct ledger_class *ledger_class(const struct ledger *ledger, uint32_t class)
{
	return &ledger->classes[class];
}

const struct ledger_sum *ledger_sum(struct ledger *ledger, uint32_t class)
{
	settle(ledger);
	return &ledger->sums[class];
}
