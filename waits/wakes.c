/* SPDX-License-Identifier: MIT */
#include "waits/wakes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "hook_table.h"

#define PAIRS_MAX	65536u
#define THRESHOLD_NS	8000u /* until it is learnt */
#define THRESHOLD_CALLS 64u   /* minimum number of calls to learn it */

/* Classes of sites: waits; posts and signals. */
enum { OF_WAITS, OF_WAKES };

/* The kinds of keys in the index. Pairs have one kind for each end. */
enum { OF_OBJECT, OF_THREAD, OF_PAIR };

const char *wakes_end_name(enum resource resource, unsigned end)
{
	static const char *const names[WAKES_ENDS] = {
		[WAKES_NOTHING] = "for nothing", [WAKES_SPURIOUS] = "spurious",
		[WAKES_UNSEEN] = "unseen",	 [WAKES_AT_ONCE] = "at once",
		[WAKES_REFUSED] = "refused",	 [WAKES_TIMEOUT] = "timed out",
		[WAKES_LEFT] = "left",		 [WAKES_ASLEEP] = "asleep",
	};

	if (end == WAKES_WOKEN)
		return resource == RESOURCE_SEMAPHORE ? "posted" : "signalled";
	return names[end];
}

void wakes_init(struct wakes *wakes, enum resource resource)
{
	*wakes = (struct wakes){ .resource = resource, .threshold_ns = THRESHOLD_NS };
	map_init(&wakes->index);
}

static void free_tokens(struct wakes *wakes)
{
	for (size_t i = 1; i < wakes->objects.count; i++)
		free(wakes->objects.items[i].tokens.items);
}

void wakes_free(struct wakes *wakes)
{
	free_tokens(wakes);
	map_clear(&wakes->index);
	sites_free(&wakes->sites);
	free(wakes->objects.items);
	free(wakes->threads.items);
	free(wakes->pairs.items);
	free(wakes->stats.items);
}

void wakes_clear(struct wakes *wakes)
{
	free_tokens(wakes);
	map_clear(&wakes->index);
	sites_clear(&wakes->sites);
	wakes->objects.count = wakes->threads.count = wakes->pairs.count = wakes->stats.count = 0;
}

/* ---- numbers ---- */

/* Sets a new number in the index. Returns the number; 0: no memory. */
static uint32_t set(struct wakes *wakes, uint32_t of, uint64_t key, uint32_t number)
{
	return number && map_set(&wakes->index, of, key, number) == 0 ? number : 0;
}

/* The number of an object, added if necessary; 0: no memory. */
static uint32_t object_of(struct wakes *wakes, uint64_t object)
{
	uint32_t number = map_get(&wakes->index, OF_OBJECT, object);

	if (number)
		return number;
	number = set(wakes, OF_OBJECT, object, ARRAY_NUMBER(&wakes->objects));
	if (number)
		wakes->objects.items[number].object = object;
	return number;
}

static uint32_t thread_of(struct wakes *wakes, uint32_t id)
{
	uint32_t number = map_get(&wakes->index, OF_THREAD, id);

	return number ? number : set(wakes, OF_THREAD, id, ARRAY_NUMBER(&wakes->threads));
}

const struct wakes_site *wakes_site(const struct wakes *wakes, uint32_t site)
{
	return site < wakes->stats.count ? &wakes->stats.items[site] : NULL;
}

const struct wakes_token *wakes_vain(const struct wakes *wakes, uint64_t object)
{
	uint32_t number = map_get(&wakes->index, OF_OBJECT, object);
	const struct wakes_object *found = number ? &wakes->objects.items[number] : NULL;

	return found && found->vain.site ? &found->vain : NULL;
}

/* The statistics of a site, created if necessary. NULL: no memory. */
static struct wakes_site *stats_of(struct wakes *wakes, uint32_t site)
{
	return ARRAY_AT(&wakes->stats, site);
}

/* ---- tokens ---- */

static int grow_tokens(struct wakes_object *object)
{
	size_t capacity = object->tokens.capacity ? object->tokens.capacity * 2 : 4;
	struct wakes_token *items = memory_alloc(capacity * sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < object->tokens.count; i++)
		items[i] =
			object->tokens.items[(object->tokens.first + i) % object->tokens.capacity];
	free(object->tokens.items);
	object->tokens.items = items;
	object->tokens.capacity = capacity;
	object->tokens.first = 0;
	return 0;
}

static int push(struct wakes_object *object, const struct wakes_token *token)
{
	if (!token->count)
		return 0;
	object->pending += token->count;
	if (object->tokens.count == WAKES_TOKENS_MAX) {
		size_t last =
			(object->tokens.first + object->tokens.count - 1) % object->tokens.capacity;

		object->tokens.items[last].count += token->count;
		return 0;
	}
	if (object->tokens.count == object->tokens.capacity && grow_tokens(object))
		return -ENOMEM;
	object->tokens
		.items[(object->tokens.first + object->tokens.count++) % object->tokens.capacity] =
		*token;
	return 0;
}

/* Takes the oldest token; there must be one. */
static struct wakes_token pop(struct wakes_object *object)
{
	struct wakes_token *oldest = &object->tokens.items[object->tokens.first], token = *oldest;

	object->pending--;
	if (--oldest->count)
		return token;
	object->tokens.first = (object->tokens.first + 1) % object->tokens.capacity;
	object->tokens.count--;
	return token;
}

/* Drops the remaining tokens, which no wait took. */
static int drop_tokens(struct wakes *wakes, struct wakes_object *object)
{
	while (object->tokens.count) {
		struct wakes_token *oldest = &object->tokens.items[object->tokens.first];
		struct wakes_site *stats = stats_of(wakes, oldest->site);

		if (!stats)
			return -ENOMEM;
		if (oldest->site)
			stats->never += oldest->count;
		object->tokens.first = (object->tokens.first + 1) % object->tokens.capacity;
		object->tokens.count--;
	}
	object->pending = 0;
	return 0;
}

/* ---- waits ---- */

static uint64_t duration_of(const struct event *event)
{
	return event->leave_ns > event->enter_ns ? event->leave_ns - event->enter_ns : 0;
}

static int add_wait(struct wakes *wakes, const struct wakes_wait *wait)
{
	uint64_t key = (uint64_t)wait->waiter << 32 | wait->waker;
	uint32_t number = map_get(&wakes->index, OF_PAIR + wait->end, key);
	struct wakes_pair *pair;

	if (wakes->listener)
		wakes->listener(wakes->user, wait);
	if (!number && wakes->pairs.count > PAIRS_MAX)
		return 0;
	if (!number)
		number = set(wakes, OF_PAIR + wait->end, key, ARRAY_NUMBER(&wakes->pairs));
	if (!number)
		return -ENOMEM;
	pair = &wakes->pairs.items[number];
	if (!pair->count++ || wait->ns > pair->longest.ns)
		pair->longest = *wait;
	pair->ns += wait->ns;
	return 0;
}

static enum wakes_end failure_of(const struct event *event)
{
	if (event->flags & (CALL_UNWOUND | CALL_OPEN))
		return WAKES_LEFT;
	if (event->error == ETIMEDOUT)
		return WAKES_TIMEOUT;
	return event->error == EAGAIN ? WAKES_REFUSED : WAKES_LEFT;
}

/* ---- semaphores ---- */

/* True if the call took longer than the threshold, which is learnt from the calls so far. */
static bool is_long(struct wakes *wakes, const struct event *event)
{
	struct waits_call call = { .duration_ns = duration_of(event) };
	uint64_t calls;

	waits_add(&wakes->speeds, NULL, &call);
	calls = wakes->speeds.calls;
	if (calls >= THRESHOLD_CALLS && !(calls & (calls - 1)))
		wakes->threshold_ns = waits_threshold(&wakes->speeds);
	return call.duration_ns >= wakes->threshold_ns;
}

static int fetch(struct wakes *wakes, struct wakes_object *object, struct wakes_wait *wait,
		 const struct event *event)
{
	bool was_long = is_long(wakes, event);
	struct wakes_token token;
	struct wakes_site *stats;

	if (!object->pending) {
		wait->end = was_long ? WAKES_UNSEEN : WAKES_AT_ONCE;
		return 0;
	}
	token = pop(object);
	wait->waker = token.site;
	wait->waker_thread = token.thread;
	wait->woken_ns = token.time_ns;
	wait->end = token.time_ns > event->enter_ns ? WAKES_WOKEN : WAKES_AT_ONCE;
	stats = stats_of(wakes, token.site);
	if (!stats)
		return -ENOMEM;
	stats->woke += wait->end == WAKES_WOKEN;
	stats->vain += wait->end == WAKES_AT_ONCE;
	return 0;
}

static int wait_semaphore(struct wakes *wakes, struct wakes_object *object,
			  const struct event *event)
{
	struct wakes_wait wait = {
		.waiter = sites_of(&wakes->sites, OF_WAITS, event),
		.object = event->object,
		.since_ns = event->enter_ns,
		.ns = duration_of(event),
		.thread = event->thread,
	};

	if (!wait.waiter)
		return -ENOMEM;
	if (event->flags & CALL_FAILED)
		wait.end = (uint8_t)failure_of(event);
	else if (fetch(wakes, object, &wait, event))
		return -ENOMEM;
	return add_wait(wakes, &wait);
}

static int post(struct wakes *wakes, struct wakes_object *object, const struct event *event)
{
	struct wakes_token token = {
		.time_ns = event->time_ns,
		.count = 1,
		.site = sites_of(&wakes->sites, OF_WAKES, event),
		.thread = event->thread,
	};
	struct wakes_site *stats = token.site ? stats_of(wakes, token.site) : NULL;

	if (!stats)
		return -ENOMEM;
	stats->count++;
	return push(object, &token);
}

/* Sets the initial value; sem_open() has one only if it created the semaphore. */
static int begin_semaphore(struct wakes *wakes, struct wakes_object *object,
			   const struct event *event)
{
	const char *value = event_argument(event, "value");
	const char *flags = event_argument(event, "flags");
	struct wakes_token token = { .count = value ? strtoul(value, NULL, 0) : 0 };

	if (flags && (!(strtoul(flags, NULL, 0) & O_CREAT) || object->pending))
		return 0;
	return drop_tokens(wakes, object) ? -ENOMEM : push(object, &token);
}

static int semaphore_event(struct wakes *wakes, const struct event *event)
{
	uint32_t number = object_of(wakes, event->object);
	struct wakes_object *object;

	if (!number)
		return -ENOMEM;
	object = &wakes->objects.items[number];
	if (event->operation == OPERATION_WAIT)
		return wait_semaphore(wakes, object, event);
	if (event->flags & CALL_FAILED)
		return 0;
	if (event->operation == OPERATION_NOTIFY)
		return post(wakes, object, event);
	if (event->operation == OPERATION_ALLOC)
		return begin_semaphore(wakes, object, event);
	return event->operation == OPERATION_FREE ? drop_tokens(wakes, object) : 0;
}

/* ---- conditions ---- */

/* Completes the last wait of a thread that was signalled, now that its next call is known. */
static int settle(struct wakes *wakes, struct wakes_thread *thread, bool was_for_nothing)
{
	struct wakes_wait wait = thread->last;

	thread->last.waiter = 0;
	if (!wait.waiter)
		return 0;
	if (was_for_nothing)
		wait.end = WAKES_NOTHING;
	return add_wait(wakes, &wait);
}

/* The first half of a wait, which releases the mutex; event->related is the condition. */
static int fall_asleep(struct wakes *wakes, const struct event *event)
{
	uint32_t number = thread_of(wakes, event->thread);
	uint32_t object = object_of(wakes, event->related);
	uint32_t site = sites_of(&wakes->sites, OF_WAITS, event);
	struct wakes_thread *thread;

	if (!number || !object || !site)
		return -ENOMEM;
	thread = &wakes->threads.items[number];
	if (thread->object)
		wakes->objects.items[thread->object].waiting--;
	if (settle(wakes, thread,
		   thread->last.object == event->related && thread->last_call + 1 == event->call))
		return -ENOMEM;
	thread->object = object;
	thread->now = (struct wakes_wait){
		.waiter = site,
		.object = event->related,
		.since_ns = event->enter_ns,
		.thread = event->thread,
	};
	wakes->objects.items[object].waiting++;
	return 0;
}

/* Sets how a wait ended. was_asleep: the first half of the wait was seen. */
static void end_wait(struct wakes_object *object, struct wakes_wait *wait, bool was_asleep,
		     const struct event *event)
{
	struct wakes_token token;

	if (event->flags & CALL_FAILED) {
		wait->end = (uint8_t)failure_of(event);
	} else if (!was_asleep || !object->pending) {
		wait->end = was_asleep ? WAKES_SPURIOUS : WAKES_UNSEEN;
	} else {
		token = pop(object);
		wait->end = WAKES_WOKEN;
		wait->waker = token.site;
		wait->waker_thread = token.thread;
		wait->woken_ns = token.time_ns;
	}
	/* Drops signals whose threads timed out before they could take them. */
	while (object->pending > object->waiting)
		pop(object);
}

static int wake_up(struct wakes *wakes, const struct event *event)
{
	uint32_t number = thread_of(wakes, event->thread);
	uint32_t index = object_of(wakes, event->object);
	struct wakes_thread *thread;
	struct wakes_wait wait = {
		.waiter = sites_of(&wakes->sites, OF_WAITS, event),
		.object = event->object,
		.since_ns = event->enter_ns,
		.ns = duration_of(event),
		.thread = event->thread,
	};
	bool was_asleep;

	if (!number || !index || !wait.waiter)
		return -ENOMEM;
	thread = &wakes->threads.items[number];
	was_asleep = thread->object == index;
	if (was_asleep) {
		wakes->objects.items[index].waiting--;
		thread->object = 0;
	}
	end_wait(&wakes->objects.items[index], &wait, was_asleep, event);
	if (wait.end != WAKES_WOKEN)
		return add_wait(wakes, &wait);
	thread->last = wait;
	thread->last_call = event->call;
	return 0;
}

static bool wakes_all(const struct event *event)
{
	const struct hook *hook = event->function->hook;

	return hook && hook->how == HOW_WAKES_ALL;
}

static int wake(struct wakes *wakes, const struct event *event)
{
	uint32_t index = object_of(wakes, event->object);
	struct wakes_token token = {
		.time_ns = event->time_ns,
		.site = sites_of(&wakes->sites, OF_WAKES, event),
		.thread = event->thread,
	};
	struct wakes_site *stats = token.site ? stats_of(wakes, token.site) : NULL;
	struct wakes_object *object;

	if (!index || !stats)
		return -ENOMEM;
	object = &wakes->objects.items[index];
	if (object->waiting > object->pending)
		token.count = wakes_all(event) ? object->waiting - object->pending : 1;
	stats->count++;
	stats->woke += token.count;
	stats->vain += !token.count;
	object->vain = token.count ? (struct wakes_token){ 0 } : token;
	return push(object, &token);
}

static void forget_vain(struct wakes *wakes, uint64_t object)
{
	uint32_t number = map_get(&wakes->index, OF_OBJECT, object);

	if (number)
		wakes->objects.items[number].vain = (struct wakes_token){ 0 };
}

static int condition_event(struct wakes *wakes, const struct event *event)
{
	if (event->operation == OPERATION_WAIT)
		return wake_up(wakes, event);
	if (event->operation == OPERATION_NOTIFY && !(event->flags & CALL_FAILED))
		return wake(wakes, event);
	/* A new condition at the same address. */
	if (event->operation == OPERATION_ALLOC)
		forget_vain(wakes, event->object);
	return 0;
}

/* ---- calls ---- */

int wakes_event(struct wakes *wakes, const struct event *event)
{
	const struct hook *hook = event->function->hook;

	if (!hook || hook->resource != wakes->resource || !event->has_tail)
		return 0;
	if (wakes->resource == RESOURCE_SEMAPHORE)
		return event->part ? 0 : semaphore_event(wakes, event);
	if (!event->part)
		return condition_event(wakes, event);
	return event->operation == OPERATION_RELEASE ? fall_asleep(wakes, event) : 0;
}

static int finish_thread(struct wakes *wakes, struct wakes_thread *thread, uint64_t end_ns)
{
	struct wakes_wait wait = thread->now;

	if (settle(wakes, thread, false))
		return -ENOMEM;
	if (!thread->object)
		return 0;
	wait.end = WAKES_ASLEEP;
	wait.ns = end_ns > wait.since_ns ? end_ns - wait.since_ns : 0;
	return add_wait(wakes, &wait);
}

int wakes_finish(struct wakes *wakes, uint64_t end_ns)
{
	int rc = 0;

	for (size_t i = 1; rc == 0 && i < wakes->threads.count; i++)
		rc = finish_thread(wakes, &wakes->threads.items[i], end_ns);
	for (size_t i = 1; rc == 0 && i < wakes->objects.count; i++)
		if (wakes->resource == RESOURCE_SEMAPHORE)
			rc = drop_tokens(wakes, &wakes->objects.items[i]);
	return rc;
}
