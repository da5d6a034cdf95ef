/* SPDX-License-Identifier: MIT */
#include "waits/gil.h"

#include <stdlib.h>

#include "hook_table.h"

/* Size of pthread_cond_t, and sizes of pthread_mutex_t on various processors (glibc, musl). */
#define CONDITION_SIZE	 48u
#define MUTEX_SIZE_LEAST 40u
#define MUTEX_SIZE_MOST	 48u

#define WAITERS_MAX 4096u /* maximum number of waiting threads; further waits are not counted */
#define PAIRS_MAX   65536u

/* Classes of sites. */
enum { OF_WAITS, OF_RELEASES };

void gil_init(struct gil *gil)
{
	*gil = (struct gil){ 0 };
	map_init(&gil->index);
}

void gil_free(struct gil *gil)
{
	map_clear(&gil->index);
	sites_free(&gil->sites);
	free(gil->pairs.items);
	free(gil->waiters.items);
}

void gil_clear(struct gil *gil)
{
	map_clear(&gil->index);
	sites_clear(&gil->sites);
	gil->pairs.count = gil->waiters.count = 0;
	gil->from = gil->to = gil->condition = gil->last = gil->last_ns = 0;
	gil->last_thread = 0;
}

void gil_note(struct gil *gil, const struct event *note)
{
	const char *from = event_argument(note, "from"), *to = event_argument(note, "to");

	if (!from || !to)
		return;
	gil->from = strtoull(from, NULL, 0);
	gil->to = strtoull(to, NULL, 0);
}

/* Whether `condition` and `other` are cond and switch_cond of one GIL. */
static bool are_conditions(uint64_t condition, uint64_t other)
{
	return other >= condition + CONDITION_SIZE + MUTEX_SIZE_LEAST &&
	       other <= condition + CONDITION_SIZE + MUTEX_SIZE_MOST;
}

static void add_pair(struct gil *gil, const struct gil_waiter *waiter, uint32_t holder,
		     uint32_t thread, uint64_t since_ns, uint64_t until_ns)
{
	uint64_t key = (uint64_t)waiter->site << 32 | holder, ns = until_ns - since_ns;
	uint32_t number = map_get(&gil->index, 0, key);
	struct gil_pair *pair;

	if (!number && gil->pairs.count > PAIRS_MAX)
		return;
	if (!number) {
		number = ARRAY_NUMBER(&gil->pairs);
		map_set(&gil->index, 0, key, number);
		gil->pairs.items[number] =
			(struct gil_pair){ .waiter = waiter->site, .holder = holder };
	}
	pair = &gil->pairs.items[number];
	pair->count++;
	pair->ns += ns;
	if (ns <= pair->longest_ns)
		return;
	pair->longest_ns = ns;
	pair->since_ns = since_ns;
	pair->waiter_thread = waiter->thread;
	pair->holder_thread = thread;
}

/*
 * Counts, for each waiting thread, the time from the last signal or the start of its wait,
 * whichever is later, to until_ns. thread: the thread that held the GIL during this time. holder:
 * the site at which that thread released the GIL. 0: not known.
 */
static void add_waits(struct gil *gil, uint32_t holder, uint32_t thread, uint64_t until_ns)
{
	for (size_t i = 0; i < gil->waiters.count; i++) {
		const struct gil_waiter *waiter = &gil->waiters.items[i];
		uint64_t since_ns =
			waiter->since_ns > gil->last_ns ? waiter->since_ns : gil->last_ns;

		if (waiter->thread != thread && until_ns > since_ns)
			add_pair(gil, waiter, holder, thread, since_ns, until_ns);
	}
}

static size_t find_waiter(const struct gil *gil, uint32_t thread)
{
	size_t i = 0;

	while (i < gil->waiters.count && gil->waiters.items[i].thread != thread)
		i++;
	return i;
}

static void take_signal(struct gil *gil, const struct event *event)
{
	uint64_t object = event->object;
	size_t i;

	if (!gil->condition && gil->last && are_conditions(object, gil->last))
		gil->condition = object;
	else if (!gil->condition && gil->last && are_conditions(gil->last, object))
		gil->condition = gil->last;
	if (gil->condition && object == gil->condition) {
		/* the holder is known if the releasing thread also sent the last signal */
		bool is_known = gil->last && gil->last != gil->condition &&
				gil->last_thread == event->thread;

		add_waits(gil, is_known ? sites_of(&gil->sites, OF_RELEASES, event) : 0,
			  is_known ? event->thread : 0, event->time_ns);
	} else if (gil->condition && !are_conditions(gil->condition, object)) {
		return;
	}
	i = find_waiter(gil, event->thread);
	if (i < gil->waiters.count)
		gil->waiters.items[i] = gil->waiters.items[--gil->waiters.count];
	gil->last = object;
	gil->last_thread = event->thread;
	gil->last_ns = event->time_ns;
}

bool gil_event(struct gil *gil, const struct event *event)
{
	const struct hook *hook = event->function->hook;
	bool is_wait = event->part && event->operation == OPERATION_RELEASE;
	uint64_t condition = is_wait ? event->related : event->object;

	if (!hook || hook->resource != RESOURCE_CONDITION || condition < gil->from ||
	    condition >= gil->to)
		return false;
	/*
	 * add the first half of a wait for cond, which releases the mutex; do not add a wait for
	 * switch_cond, which is part of releasing the GIL
	 */
	if (is_wait && gil->condition && gil->condition == condition &&
	    gil->waiters.count < WAITERS_MAX &&
	    find_waiter(gil, event->thread) == gil->waiters.count)
		*ARRAY_ADD(&gil->waiters) =
			(struct gil_waiter){ .thread = event->thread,
					     .site = sites_of(&gil->sites, OF_WAITS, event),
					     .since_ns = event->enter_ns };
	else if (event->operation == OPERATION_NOTIFY && !(event->flags & CALL_FAILED))
		take_signal(gil, event);
	return true;
}

void gil_finish(struct gil *gil, uint64_t end_ns)
{
	bool is_held = gil->last && gil->condition && gil->last != gil->condition;

	/* the GIL was not released, so the line of its holder is not known */
	if (is_held)
		add_waits(gil, 0, gil->last_thread, end_ns);
	gil->waiters.count = 0;
}
