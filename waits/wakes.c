/* SPDX-License-Identifier: MIT */
#include "waits/wakes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/memory.h"
#include "hook_table.h"

#define PAIRS_MAX	65536u
#define THRESHOLD_NS	8000u /* threshold as long as too few calls were seen */
#define THRESHOLD_CALLS 64u   /* minimum number of calls from which a threshold is learnt */
/*
 * maximum number of remembered wakes of a futex; wakes of threads that are not traced match no
 * wait, and would accumulate
 */
#define WAKES_KEPT 256u
/* Maximum number of moves of a waiting thread from futex to futex in one wait. */
#define MOVES_MAX 8
#define CALL_NS	  1000000u /* shorter calls do not count as waits */

/* The classes of sites: OF_WAKES is for posts and signals. */
enum { OF_WAITS, OF_WAKES };

/* The kinds of keys in wakes->index. The kind of a pair is OF_PAIR + its end (enum wakes_end). */
enum { OF_OBJECT, OF_THREAD, OF_PAIR };

const char *wakes_end_name(enum resource resource, unsigned end)
{
	static const char *const names[WAKES_ENDS] = {
		[WAKES_NOTHING] = "waited again",
		[WAKES_SPURIOUS] = "spurious",
		[WAKES_UNSEEN] = "waker unknown",
		[WAKES_AT_ONCE] = "no wait",
		[WAKES_REFUSED] = "refused",
		[WAKES_TIMEOUT] = "timed out",
		[WAKES_LEFT] = "left",
		[WAKES_IDLE] = "idle",
		[WAKES_ASLEEP] = "asleep",
	};

	if (end == WAKES_WOKEN && (resource == RESOURCE_FUTEX || resource == RESOURCE_CALL))
		return "woken";
	if (end == WAKES_UNSEEN && resource == RESOURCE_CALL)
		return "returned";
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
	wakes->last_thread = 0;
	wakes->last_ns = wakes->others_ns = 0;
	wakes->objects.count = wakes->threads.count = wakes->pairs.count = wakes->stats.count = 0;
}

/* ---- numbers ---- */

/* Returns the number of an object, which is added if it is new. */
static uint32_t object_of(struct wakes *wakes, uint64_t object)
{
	struct map_entry *entry = map_put(&wakes->index, OF_OBJECT, object);

	if (!entry->value) {
		entry->value = ARRAY_NUMBER(&wakes->objects);
		wakes->objects.items[entry->value].object = object;
	}
	return entry->value;
}

static uint32_t thread_of(struct wakes *wakes, uint32_t id)
{
	struct map_entry *entry = map_put(&wakes->index, OF_THREAD, id);

	if (!entry->value)
		entry->value = ARRAY_NUMBER(&wakes->threads);
	return entry->value;
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

static struct wakes_site *stats_of(struct wakes *wakes, uint32_t site)
{
	return ARRAY_AT(&wakes->stats, site);
}

/* ---- tokens ---- */

static void push_token(struct wakes_object *object, const struct wakes_token *token)
{
	size_t count = object->tokens.count, capacity = object->tokens.capacity;

	if (!token->count)
		return;
	object->pending += token->count;
	if (count == WAKES_TOKENS_MAX) {
		object->tokens.items[(object->tokens.first + count - 1) % capacity].count +=
			token->count;
		return;
	}
	if (count == capacity) {
		size_t more = capacity ? capacity * 2 : 4;
		struct wakes_token *items = memory_alloc(more * sizeof(*items));

		for (size_t i = 0; i < count; i++)
			items[i] = object->tokens.items[(object->tokens.first + i) % capacity];
		free(object->tokens.items);
		object->tokens.items = items;
		object->tokens.capacity = capacity = more;
		object->tokens.first = 0;
	}
	object->tokens.items[(object->tokens.first + count) % capacity] = *token;
	object->tokens.count++;
}

/* Takes the oldest token; the object must have one. */
static struct wakes_token pop_token(struct wakes_object *object)
{
	struct wakes_token *oldest = &object->tokens.items[object->tokens.first], token = *oldest;

	object->pending--;
	if (--oldest->count)
		return token;
	object->tokens.first = (object->tokens.first + 1) % object->tokens.capacity;
	object->tokens.count--;
	return token;
}

/* Drops the remaining tokens and counts them as posts that no wait took. */
static void drop_tokens(struct wakes *wakes, struct wakes_object *object)
{
	while (object->tokens.count) {
		struct wakes_token *oldest = &object->tokens.items[object->tokens.first];

		if (oldest->site)
			stats_of(wakes, oldest->site)->never += oldest->count;
		object->tokens.first = (object->tokens.first + 1) % object->tokens.capacity;
		object->tokens.count--;
	}
	object->pending = 0;
}

/* ---- waits ---- */

static uint64_t duration_of(const struct event *event)
{
	return event->leave_ns > event->enter_ns ? event->leave_ns - event->enter_ns : 0;
}

/*
 * Adds a wait to its pair. Returns the pair if this wait is the longest of the pair so far, else
 * NULL.
 */
static struct wakes_pair *add_wait(struct wakes *wakes, const struct wakes_wait *wait)
{
	uint64_t key = (uint64_t)wait->waiter << 32 | wait->waker;
	uint32_t number = map_get(&wakes->index, OF_PAIR + wait->end, key);
	struct wakes_pair *pair;

	if (wakes->listener)
		wakes->listener(wakes->user, wait);
	if (!number && wakes->pairs.count > PAIRS_MAX)
		return NULL;
	if (!number) {
		number = ARRAY_NUMBER(&wakes->pairs);
		map_set(&wakes->index, OF_PAIR + wait->end, key, number);
	}
	pair = &wakes->pairs.items[number];
	pair->ns += wait->ns;
	if (pair->count++ && wait->ns <= pair->longest.ns)
		return NULL;
	pair->longest = *wait;
	return pair;
}

static enum wakes_end failure_of(const struct event *event)
{
	if (event->flags & (CALL_UNWOUND | CALL_OPEN))
		return WAKES_LEFT;
	if (event->error == ETIMEDOUT)
		return WAKES_TIMEOUT;
	if (event->error != EAGAIN)
		return WAKES_LEFT;
	/*
	 * a call of the other classes fails with EAGAIN if its time limit (SO_RCVTIMEO,
	 * sigtimedwait) has passed
	 */
	return event->function->hook->resource == RESOURCE_SEMAPHORE ? WAKES_REFUSED
								     : WAKES_TIMEOUT;
}

/* ---- semaphores ---- */

static void fetch_token(struct wakes *wakes, struct wakes_object *object, struct wakes_wait *wait,
			const struct event *event)
{
	struct waits_call call = { .duration_ns = duration_of(event) };
	struct wakes_token token;
	struct wakes_site *stats;
	uint64_t calls;

	/* learns the threshold from the calls so far */
	waits_add(&wakes->speeds, NULL, &call);
	calls = wakes->speeds.calls;
	if (calls >= THRESHOLD_CALLS && !(calls & (calls - 1)))
		wakes->threshold_ns = waits_threshold(&wakes->speeds);
	if (!object->pending) {
		wait->end = call.duration_ns >= wakes->threshold_ns ? WAKES_UNSEEN : WAKES_AT_ONCE;
		return;
	}
	token = pop_token(object);
	wait->waker = token.site;
	wait->waker_thread = token.thread;
	wait->woken_ns = token.time_ns;
	wait->end = token.time_ns > event->enter_ns ? WAKES_WOKEN : WAKES_AT_ONCE;
	stats = stats_of(wakes, token.site);
	stats->woke += wait->end == WAKES_WOKEN;
	stats->vain += wait->end == WAKES_AT_ONCE;
}

static void semaphore_event(struct wakes *wakes, const struct event *event)
{
	uint32_t number = object_of(wakes, event->object);
	struct wakes_object *object = &wakes->objects.items[number];

	if (event->operation == OPERATION_WAIT) {
		struct wakes_wait wait = {
			.waiter = sites_of(&wakes->sites, OF_WAITS, event),
			.object = event->object,
			.since_ns = event->enter_ns,
			.ns = duration_of(event),
			.thread = event->thread,
		};

		if (event->flags & CALL_FAILED)
			wait.end = (uint8_t)failure_of(event);
		else
			fetch_token(wakes, object, &wait, event);
		add_wait(wakes, &wait);
	} else if (event->flags & CALL_FAILED)
		return;
	else if (event->operation == OPERATION_NOTIFY) {
		struct wakes_token token = {
			.time_ns = event->time_ns,
			.count = 1,
			.site = sites_of(&wakes->sites, OF_WAKES, event),
			.thread = event->thread,
		};

		stats_of(wakes, token.site)->count++;
		push_token(object, &token);
	} else if (event->operation == OPERATION_ALLOC) {
		const char *value = event_argument(event, "value");
		const char *flags = event_argument(event, "flags");
		struct wakes_token token = { .count = value ? strtoul(value, NULL, 0) : 0 };

		/* sem_open() sets the initial value only if it created the semaphore */
		if (flags && (!(strtoul(flags, NULL, 0) & O_CREAT) || object->pending))
			return;
		drop_tokens(wakes, object);
		push_token(object, &token);
	} else if (event->operation == OPERATION_FREE)
		drop_tokens(wakes, object);
}

/* ---- futexes ---- */

/* Removes one thread from the count of the wake at this position in the object's list. */
static void use_wake(struct wakes_object *object, size_t at)
{
	struct wakes_token *items = object->tokens.items;
	size_t first = object->tokens.first, capacity = object->tokens.capacity;

	object->pending--;
	if (--items[(first + at) % capacity].count)
		return;
	for (; at; at--) /* moves the older wakes up by one place */
		items[(first + at) % capacity] = items[(first + at - 1) % capacity];
	object->tokens.first = (first + 1) % capacity;
	object->tokens.count--;
}

static struct wakes_token *wake_at(const struct wakes_object *object, size_t at)
{
	return &object->tokens.items[(object->tokens.first + at) % object->tokens.capacity];
}

/*
 * A call has woken threads of two futexes, and each futex has a token for it (twins). A wait was
 * attributed to `wake`, so the twin of `wake` can have woken at most the remaining threads.
 */
static void limit_twin(struct wakes *wakes, const struct wakes_token *wake)
{
	struct wakes_object *twin = &wakes->objects.items[wake->twin];

	for (size_t at = 0; at < twin->tokens.count; at++) {
		struct wakes_token *other = wake_at(twin, at);

		if (other->time_ns != wake->time_ns || other->thread != wake->thread)
			continue;
		other->left = wake->left;
		if (other->count > other->left)
			use_wake(twin, at);
		return;
	}
}

/*
 * Finds the wake that ended a wait for an object (the wait began at since_ns), and removes one
 * thread from the wake's count. If a call moved the thread to another futex, a later wake of that
 * futex ended the wait. moves: number of moves in this wait so far. Returns false if no wake can
 * have ended the wait.
 */
static bool take_wake(struct wakes *wakes, uint32_t number, uint64_t since_ns, unsigned moves,
		      struct wakes_token *wake)
{
	struct wakes_object *object = &wakes->objects.items[number];
	bool may_move = moves < MOVES_MAX;

	for (size_t at = 0; at < object->tokens.count; at++) {
		const struct wakes_token found = *wake_at(object, at);

		if (found.until_ns < since_ns || (found.moved_to && !may_move))
			continue;
		if (!found.moved_to) {
			wake_at(object, at)->left--;
			*wake = *wake_at(object, at);
		} else if (!take_wake(wakes, found.moved_to, found.time_ns, moves + 1, wake)) {
			may_move = false; /* the call moved another thread */
			continue;
		}
		use_wake(object, at);
		if (found.twin)
			limit_twin(wakes, wake);
		return true;
	}
	return false;
}

static struct wakes_pair *wait_futex(struct wakes *wakes, uint32_t number,
				     const struct event *event)
{
	struct wakes_wait wait = {
		.waiter = sites_of(&wakes->sites, OF_WAITS, event),
		.object = event->object,
		.since_ns = event->enter_ns,
		.ns = duration_of(event),
		.thread = event->thread,
		.end = WAKES_UNSEEN,
	};
	struct wakes_token wake;

	if (event->flags & CALL_FAILED) {
		wait.end = (uint8_t)failure_of(event);
	} else if (take_wake(wakes, number, event->enter_ns, 0, &wake)) {
		wait.end = WAKES_WOKEN;
		wait.waker = wake.site;
		wait.waker_thread = wake.thread;
		wait.woken_ns = wake.time_ns;
	}
	return add_wait(wakes, &wait);
}

static void push_wake(struct wakes *wakes, uint32_t number, const struct wakes_token *wake)
{
	struct wakes_object *object = &wakes->objects.items[number];

	if (object->tokens.count >= WAKES_KEPT) {
		object->pending -= object->tokens.items[object->tokens.first].count;
		object->tokens.first = (object->tokens.first + 1) % object->tokens.capacity;
		object->tokens.count--;
	}
	push_token(object, wake);
}

bool wakes_both(const struct event *event)
{
	const char *operation = event_argument(event, "second");

	return operation && (strtol(operation, NULL, 0) & FUTEX_CMD_MASK) == FUTEX_WAKE_OP;
}

/*
 * Adds a wake. If the call also moves threads to a second futex, it first wakes as many threads as
 * its third argument permits. If it wakes threads of both futexes, later waits show how many
 * threads of each.
 */
static void wake_futex(struct wakes *wakes, uint32_t number, const struct event *event)
{
	const char *limit = event->related ? event_argument(event, "third") : NULL;
	uint64_t woken = limit ? strtoull(limit, NULL, 0) : event->size;
	uint32_t second = event->related ? object_of(wakes, event->related) : 0;
	struct wakes_token wake = {
		.time_ns = event->time_ns,
		.until_ns = event->leave_ns,
		.count = woken < event->size ? woken : event->size,
		.left = event->size,
		.site = sites_of(&wakes->sites, OF_WAKES, event),
		.thread = event->thread,
	};
	struct wakes_site *stats = stats_of(wakes, wake.site);
	bool both = second && wakes_both(event);

	stats->count++;
	stats->woke += both ? event->size : wake.count;
	wake.twin = both ? second : 0;
	push_wake(wakes, number, &wake);
	if (!second)
		return;
	wake.count = both ? event->size : event->size - wake.count;
	wake.twin = both ? number : 0;
	wake.moved_to = both ? 0 : second;
	push_wake(wakes, both ? second : number, &wake);
}

/* ---- calls that block ---- */

bool wakes_is_call(const struct event *event)
{
	const struct hook *hook = event->function->hook;

	/* skip nested calls: the time of a nested call belongs to the enclosing call */
	if (!hook || !hook_may_sleep(hook) || event->part || event->depth ||
	    event->moment == MOMENT_HALF)
		return false;
	if (duration_of(event) < CALL_NS)
		return false;
	return hook->resource == RESOURCE_CALL || hook->resource == RESOURCE_FD ||
	       hook->resource == RESOURCE_FILE || hook->resource == RESOURCE_DIRECTORY ||
	       hook->resource == RESOURCE_PROCESS;
}

/* Remembers when threads make calls, since the process is not idle then. */
static void note_activity(struct wakes *wakes, const struct event *event)
{
	if (event->thread != wakes->last_thread) {
		wakes->others_ns = wakes->last_ns;
		wakes->last_thread = event->thread;
	}
	wakes->last_ns = event->time_ns;
}

static void blocking_event(struct wakes *wakes, const struct event *event)
{
	const struct hook *hook = event->function->hook;
	bool is_wake =
		hook && hook->resource == RESOURCE_CALL && event->operation == OPERATION_NOTIFY;
	struct wakes_pair *pair;
	struct wakes_site *site;
	uint64_t others_ns;
	uint32_t object;

	if (!is_wake && !wakes_is_call(event)) {
		if (event->operation != OPERATION_WAIT)
			note_activity(wakes, event);
		return;
	}
	object = object_of(wakes, event->object);
	if (is_wake) {
		struct wakes_token wake = {
			.time_ns = event->time_ns,
			.until_ns = event->leave_ns,
			.count = 1,
			.thread = event->thread,
			.site = sites_of(&wakes->sites, OF_WAKES, event),
		};
		struct wakes_site *stats = stats_of(wakes, wake.site);

		stats->count++;
		stats->woke++;
		push_wake(wakes, object, &wake);
		note_activity(wakes, event);
		return;
	}
	pair = wait_futex(wakes, object, event);
	if (pair && wakes->describe)
		pair->what = wakes->describe(wakes->user, event);
	site = stats_of(wakes, sites_of(&wakes->sites, OF_WAITS, event));
	others_ns = event->thread == wakes->last_thread ? wakes->others_ns : wakes->last_ns;
	site->waits++;
	site->quiet += others_ns < event->enter_ns;
}

bool wakes_is_loop(const struct hook *hook, const struct wakes_site *site)
{
	return hook && hook->how == HOW_POLLS && site->waits >= WAKES_IDLE_MIN &&
	       site->quiet > site->waits / 2;
}

/* ---- conditions ---- */

/*
 * Completes the thread's last wait that a signal ended. was_for_nothing: the thread immediately
 * waits for the same condition again.
 */
static void settle_last(struct wakes *wakes, struct wakes_thread *thread, bool was_for_nothing)
{
	struct wakes_wait wait = thread->last;

	thread->last.waiter = 0;
	if (was_for_nothing)
		wait.end = WAKES_NOTHING;
	if (wait.waiter)
		add_wait(wakes, &wait);
}

/* Adds the first half of a wait, which releases the mutex. event->related is the condition. */
static void fall_asleep(struct wakes *wakes, const struct event *event)
{
	uint32_t number = thread_of(wakes, event->thread);
	uint32_t object = object_of(wakes, event->related);
	uint32_t site = sites_of(&wakes->sites, OF_WAITS, event);
	struct wakes_thread *thread = &wakes->threads.items[number];

	if (thread->object)
		wakes->objects.items[thread->object].waiting--;
	settle_last(wakes, thread,
		    thread->last.object == event->related && thread->last_call + 1 == event->call);
	thread->object = object;
	thread->now = (struct wakes_wait){
		.waiter = site,
		.object = event->related,
		.since_ns = event->enter_ns,
		.thread = event->thread,
	};
	wakes->objects.items[object].waiting++;
}

static void wake_up(struct wakes *wakes, const struct event *event)
{
	uint32_t number = thread_of(wakes, event->thread);
	uint32_t index = object_of(wakes, event->object);
	struct wakes_thread *thread = &wakes->threads.items[number];
	struct wakes_wait wait = {
		.waiter = sites_of(&wakes->sites, OF_WAITS, event),
		.object = event->object,
		.since_ns = event->enter_ns,
		.ns = duration_of(event),
		.thread = event->thread,
	};
	bool was_asleep = thread->object == index; /* the first half of the wait was recorded */
	struct wakes_object *object = &wakes->objects.items[index];
	struct wakes_token token;

	if (was_asleep) {
		object->waiting--;
		thread->object = 0;
	}
	if (event->flags & CALL_FAILED) {
		wait.end = (uint8_t)failure_of(event);
	} else if (!was_asleep || !object->pending) {
		wait.end = was_asleep ? WAKES_SPURIOUS : WAKES_UNSEEN;
	} else {
		token = pop_token(object);
		wait.end = WAKES_WOKEN;
		wait.waker = token.site;
		wait.waker_thread = token.thread;
		wait.woken_ns = token.time_ns;
	}
	/* Drops signals for threads that timed out at that moment and no longer wait. */
	while (object->pending > object->waiting)
		pop_token(object);
	if (wait.end != WAKES_WOKEN) {
		add_wait(wakes, &wait);
		return;
	}
	thread->last = wait;
	thread->last_call = event->call;
}

static void wake_waiters(struct wakes *wakes, const struct event *event)
{
	uint32_t index = object_of(wakes, event->object);
	struct wakes_token token = {
		.time_ns = event->time_ns,
		.site = sites_of(&wakes->sites, OF_WAKES, event),
		.thread = event->thread,
	};
	struct wakes_site *stats = stats_of(wakes, token.site);
	struct wakes_object *object = &wakes->objects.items[index];
	const struct hook *hook = event->function->hook;

	if (object->waiting > object->pending)
		token.count =
			hook && hook->how == HOW_WAKES_ALL ? object->waiting - object->pending : 1;
	stats->count++;
	stats->woke += token.count;
	stats->vain += !token.count;
	object->vain = token.count ? (struct wakes_token){ 0 } : token;
	push_token(object, &token);
}

/* ---- calls ---- */

void wakes_event(struct wakes *wakes, const struct event *event)
{
	const struct hook *hook = event->function->hook;

	if (wakes->resource == RESOURCE_CALL && event->has_tail)
		blocking_event(wakes, event);
	if (!hook || hook->resource != wakes->resource || !event->has_tail)
		return;
	if (wakes->resource == RESOURCE_SEMAPHORE && !event->part)
		semaphore_event(wakes, event);
	else if (wakes->resource == RESOURCE_FUTEX && !event->part) {
		uint32_t number = object_of(wakes, event->object);

		if (event->operation == OPERATION_WAIT)
			wait_futex(wakes, number, event);
		else if (event->operation == OPERATION_NOTIFY && !(event->flags & CALL_FAILED))
			wake_futex(wakes, number, event);
	} else if (wakes->resource == RESOURCE_CONDITION && !event->part) {
		uint32_t number = map_get(&wakes->index, OF_OBJECT, event->object);

		if (event->operation == OPERATION_WAIT)
			wake_up(wakes, event);
		else if (event->operation == OPERATION_NOTIFY && !(event->flags & CALL_FAILED))
			wake_waiters(wakes, event);
		else if (event->operation == OPERATION_ALLOC && number) /* a new condition there */
			wakes->objects.items[number].vain = (struct wakes_token){ 0 };
	} else if (wakes->resource == RESOURCE_CONDITION && event->operation == OPERATION_RELEASE)
		fall_asleep(wakes, event);
}

void wakes_finish(struct wakes *wakes, uint64_t end_ns)
{
	for (size_t i = 1; i < wakes->threads.count; i++) {
		struct wakes_thread *thread = &wakes->threads.items[i];
		struct wakes_wait wait = thread->now;

		settle_last(wakes, thread, false);
		wait.end = WAKES_ASLEEP;
		wait.ns = end_ns > wait.since_ns ? end_ns - wait.since_ns : 0;
		if (thread->object)
			add_wait(wakes, &wait);
	}
	for (size_t i = 1; i < wakes->objects.count; i++)
		if (wakes->resource == RESOURCE_SEMAPHORE)
			drop_tokens(wakes, &wakes->objects.items[i]);
}
