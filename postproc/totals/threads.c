/* SPDX-License-Identifier: MIT */
#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "hook_table.h"
#include "notes.h"

/* ---- the tables ---- */

static uint32_t find_by(const struct map *map, uint64_t key)
{
	uint32_t place = map_get(map, 0, key);

	return place ? place - 1 : THREAD_NONE;
}

/* Adds a thread and returns its index. `tid` and `pthread` may be 0. */
static uint32_t add_life(struct threads *threads, uint32_t tid, uint64_t pthread, uint64_t time_ns)
{
	uint32_t index = (uint32_t)threads->list.count;

	*ARRAY_ADD(&threads->list) = (struct thread_life){
		.tid = tid,
		.pthread = pthread,
		.creator = THREAD_NONE,
		.first_ns = time_ns,
		.last_ns = time_ns,
	};

	if (tid)
		map_set(&threads->by_number, 0, tid, index + 1);
	if (pthread)
		map_set(&threads->by_handle, 0, pthread, index + 1);
	return index;
}

/*
 * Returns the index of the event's thread. Until a new thread has an event, only its pthread_t
 * identifies it: an earlier thread may have had the same tid.
 */
static uint32_t look_up(struct threads *threads, const struct event *event)
{
	uint32_t index = event->pthread ? find_by(&threads->by_handle, event->pthread)
					: find_by(&threads->by_number, event->thread);
	struct thread_life *thread;

	if (index == THREAD_NONE)
		return add_life(threads, event->thread, event->pthread, event->time_ns);
	thread = &threads->list.items[index];
	if (thread->tid == event->thread)
		return index;
	if (thread->tid)
		return add_life(threads, event->thread, event->pthread, event->time_ns);
	thread->tid = event->thread;
	map_set(&threads->by_number, 0, event->thread, index + 1);
	return index;
}

static uint32_t thread_of(struct threads *threads, const struct event *event)
{
	const struct thread_life *last =
		threads->last != THREAD_NONE ? &threads->list.items[threads->last] : NULL;

	if (!last || last->tid != event->thread || last->pthread != event->pthread)
		threads->last = look_up(threads, event);
	return threads->last;
}

/* ---- waits ---- */

/* enum thread_wait + 1, indexed by class of the hook; 0: calls of the class are never waits. */
static const unsigned char waits[RESOURCE_COUNT] = {
	[RESOURCE_LOCK] = THREAD_WAIT_LOCK + 1,
	[RESOURCE_SEMAPHORE] = THREAD_WAIT_SEMAPHORE + 1,
	[RESOURCE_SEMSET] = THREAD_WAIT_SEMAPHORE + 1,
	[RESOURCE_CONDITION] = THREAD_WAIT_CONDITION + 1,
	[RESOURCE_FUTEX] = THREAD_WAIT_FUTEX + 1,
	[RESOURCE_THREAD] = THREAD_WAIT_JOIN + 1,
	[RESOURCE_BARRIER] = THREAD_WAIT_JOIN + 1,
	[RESOURCE_PROCESS] = THREAD_WAIT_JOIN + 1,
	[RESOURCE_FD] = THREAD_WAIT_OTHER + 1,
	[RESOURCE_FILE] = THREAD_WAIT_OTHER + 1,
	[RESOURCE_DIRECTORY] = THREAD_WAIT_OTHER + 1,
	[RESOURCE_CALL] = THREAD_WAIT_OTHER + 1,
};

bool threads_waits(const struct hook *hook, const struct event *event, enum thread_wait *wait)
{
	if (event->leave_ns < event->enter_ns + THREADS_WAIT_NS || !hook || !hook_may_sleep(hook) ||
	    !waits[hook->resource])
		return false;
	*wait = (enum thread_wait)(waits[hook->resource] - 1);
	/* the time of a nested call of this kind belongs to the enclosing call */
	return *wait != THREAD_WAIT_OTHER || event->depth == 0;
}

static void add_wait(struct thread_life *thread, const struct hook *hook, const struct event *event)
{
	enum thread_wait wait;

	if (threads_waits(hook, event, &wait))
		thread->waited_ns[wait] += event->leave_ns - event->enter_ns;
}

/* ---- creation and end ---- */

static void set_name(struct thread_life *thread, const struct event *event)
{
	const char *name = event_argument(event, "name");

	if (name)
		snprintf(thread->name, sizeof(thread->name), "%s", name);
}

const struct thread_life *threads_of_handle(const struct threads *threads, uint64_t handle)
{
	uint32_t index = find_by(&threads->by_handle, handle);

	return index != THREAD_NONE ? &threads->list.items[index] : NULL;
}

/* Processes a successful call about a thread. */
static void on_thread(struct threads *threads, uint32_t caller, const struct event *event)
{
	uint32_t index = find_by(&threads->by_handle, event->object);
	struct thread_life *thread = index != THREAD_NONE ? &threads->list.items[index] : NULL;

	if (event->type == CALL_TYPE_ALLOC) {
		/* a failed join has a second event, which acquires the thread again */
		if (event->part)
			return;
		index = add_life(threads, 0, event->object, event->time_ns);
		thread = &threads->list.items[index];
		thread->creator = caller;
		thread->backtrace = event->backtrace;
		thread->index = event->index;
	} else if (event->operation == OPERATION_END) {
		threads->list.items[caller].has_ended = true;
	} else if (!strcmp(event->function->name, "prctl")) {
		set_name(&threads->list.items[caller], event);
	} else if (!thread || event->moment == MOMENT_HALF) {
		return;
	} else if (event->operation == OPERATION_WAIT || event->function->hook->how == HOW_JOINS) {
		thread->is_joined = true;
		/* if the join did not wait, the thread had ended before, at an unknown time */
		if (event->leave_ns >= event->enter_ns + THREADS_WAIT_NS)
			thread->ended_ns = event->leave_ns;
	} else if (event->operation == OPERATION_FREE) {
		thread->is_detached = true;
	} else {
		set_name(thread, event);
	}
}

void threads_event(struct threads *threads, const struct event *event)
{
	uint32_t caller = thread_of(threads, event);
	struct thread_life *thread;

	thread = &threads->list.items[caller];
	thread->is_first |= event->thread == event->process->pid;
	if (event->time_ns > thread->last_ns)
		thread->last_ns = event->time_ns;
	if (event->leave_ns > thread->last_ns)
		thread->last_ns = event->leave_ns;
	if (!event->part && event->moment != MOMENT_HALF) {
		thread->events++;
		add_wait(thread, event->function->hook, event);
	}
	if (event->flags & (CALL_FAILED | CALL_OF_CHILD) || !event->function->hook ||
	    event->function->hook->resource != RESOURCE_THREAD)
		return;
	on_thread(threads, caller, event);
}

/*
 * Processes the notes ~open (a call that had not returned at the end) and ~process (which shows the
 * first thread).
 */
void threads_note(struct threads *threads, const struct event *event)
{
	const char *name = event->function->name, *call = event_argument(event, "call");
	struct thread_life *thread;
	uint32_t index;

	if (strcmp(name, NOTE_OPEN) != 0 && strcmp(name, NOTE_PROCESS) != 0)
		return;
	index = thread_of(threads, event);
	thread = &threads->list.items[index];
	thread->is_first |= event->thread == event->process->pid;
	if (!call)
		return;
	snprintf(thread->open_call, sizeof(thread->open_call), "%s", call);
	add_wait(thread, hook_find(call), event);
}

/* ---- begin and end ---- */

void threads_init(struct threads *threads)
{
	*threads = (struct threads){ .last = THREAD_NONE };
	map_init(&threads->by_number);
	map_init(&threads->by_handle);
}

void threads_clear(struct threads *threads)
{
	free(threads->list.items);
	map_clear(&threads->by_number);
	map_clear(&threads->by_handle);
	threads_init(threads);
}
