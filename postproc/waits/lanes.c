/* SPDX-License-Identifier: MIT */
#include "lanes.h"

#include <string.h>

#include "hook_table.h"
#include "notes.h"

const char *lane_word(enum lane_kind kind)
{
	static const char *const words[LANE_KINDS] = {
		[LANE_LOCK] = "lock",		[LANE_CONDITION] = "condition",
		[LANE_SEMAPHORE] = "semaphore", [LANE_FUTEX] = "futex",
		[LANE_JOIN] = "thread",		[LANE_OTHER] = "call",
	};

	return words[kind];
}

static void tell(const struct lanes *lanes, const struct lane_wait *wait)
{
	if (lanes->listener.wait)
		lanes->listener.wait(lanes->listener.user, wait);
}

/*
 * Returns the backtrace of a site, or NULL if index is 0. function: receives the name of the
 * function; may be NULL.
 */
static const struct trace_node *backtrace_of(const struct lanes *lanes, const struct sites *sites,
					     uint32_t index, const char **function)
{
	const struct site *site = index ? sites_at(sites, index) : NULL;

	if (!site)
		return NULL;
	if (function)
		*function = site->function->name;
	return space_backtrace(&lanes->run->summary->space, site->backtrace, site->index);
}

/* ---- locks ---- */

static void on_lock_wait(void *user, const struct locks_wait *found)
{
	const struct lanes *lanes = user;
	const struct sites *sites = &lanes->run->summary->locks.sites;
	struct lane_wait wait = {
		.kind = LANE_LOCK,
		.function = found->function,
		.end = "",
		.object = found->object,
		.since_ns = found->since_ns,
		.until_ns = found->until_ns,
		.thread = found->thread,
		.waker_thread = found->holder_thread,
		.woken_ns = found->released_ns,
		.is_open = found->is_open,
	};

	if (lanes->next.wait)
		lanes->next.wait(lanes->next.user, found);
	wait.waiter = backtrace_of(lanes, sites, found->site, NULL);
	wait.waker = backtrace_of(lanes, sites, found->holder_site, NULL);
	if (wait.waiter)
		tell(lanes, &wait);
}

static void on_held(void *user, const struct locks_held *held)
{
	const struct lanes *lanes = user;
	struct lane_hold hold = {
		.object = held->object,
		.since_ns = held->since_ns,
		.until_ns = held->until_ns,
		.serial = held->serial,
		.thread = held->thread,
	};

	if (lanes->next.held)
		lanes->next.held(lanes->next.user, held);
	if (!lanes->listener.hold)
		return;
	hold.holder =
		backtrace_of(lanes, &lanes->run->summary->locks.sites, held->site, &hold.function);
	if (hold.holder)
		lanes->listener.hold(lanes->listener.user, &hold);
}

/* ---- conditions, semaphores and futexes ---- */

static const char *const ends[WAKES_ENDS] = {
	[WAKES_WOKEN] = "woken",	  [WAKES_NOTHING] = "waited again",
	[WAKES_SPURIOUS] = "spurious",	  [WAKES_UNSEEN] = "waker unknown",
	[WAKES_AT_ONCE] = "no wait",	  [WAKES_REFUSED] = "refused",
	[WAKES_TIMEOUT] = "timed out",	  [WAKES_LEFT] = "cancelled or failed",
	[WAKES_ASLEEP] = "has not ended",
};

static void on_wake(const struct lanes *lanes, const struct wakes *wakes, enum lane_kind kind,
		    const struct wakes_wait *found)
{
	struct lane_wait wait = {
		.kind = kind,
		.end = ends[found->end],
		.object = found->object,
		.since_ns = found->since_ns,
		.until_ns = found->since_ns + found->ns,
		.thread = found->thread,
		.waker_thread = found->waker_thread,
		.woken_ns = found->woken_ns,
		.is_open = found->end == WAKES_ASLEEP,
	};

	wait.waiter = backtrace_of(lanes, &wakes->sites, found->waiter, &wait.function);
	wait.waker = backtrace_of(lanes, &wakes->sites, found->waker, NULL);
	if (wait.waiter)
		tell(lanes, &wait);
}

static void on_condition(void *user, const struct wakes_wait *wait)
{
	const struct lanes *lanes = user;

	on_wake(lanes, &lanes->conditions, LANE_CONDITION, wait);
}

static void on_semaphore(void *user, const struct wakes_wait *wait)
{
	const struct lanes *lanes = user;

	if (wait->end == WAKES_AT_ONCE || wait->end == WAKES_REFUSED)
		return;
	on_wake(lanes, &lanes->semaphores, LANE_SEMAPHORE, wait);
}

static void on_futex(void *user, const struct wakes_wait *wait)
{
	const struct lanes *lanes = user;

	on_wake(lanes, &lanes->futexes, LANE_FUTEX, wait);
}

/* ---- other waits ---- */

static void on_call(void *user, const struct wakes_wait *wait)
{
	struct lanes *lanes = user;

	lanes->call = *wait;
}

static void tell_call(const struct lanes *lanes, const struct hook *hook, enum lane_kind kind,
		      const struct event *event, bool is_open)
{
	struct lane_wait wait = {
		.kind = kind,
		.function = hook->name,
		.end = is_open ? "has not ended" : "",
		.object = event->object,
		.since_ns = event->enter_ns,
		.until_ns = event->leave_ns,
		.thread = event->thread,
		.is_open = is_open,
		.waiter = space_backtrace(&lanes->run->summary->space, event->backtrace,
					  event->index),
	};
	const struct thread_life *joined = NULL;

	if (hook->resource == RESOURCE_THREAD && event->object)
		joined = threads_of_handle(&lanes->threads, event->object);
	if (joined)
		wait.waker_thread = joined->tid;
	if (!is_open && lanes->call.waker) {
		wait.end = ends[lanes->call.end];
		wait.waker = backtrace_of(lanes, &lanes->calls.sites, lanes->call.waker, NULL);
		wait.waker_thread = lanes->call.waker_thread;
		wait.woken_ns = lanes->call.woken_ns;
	}
	if (wait.waiter)
		tell(lanes, &wait);
}

void lanes_event(struct lanes *lanes, const struct event *event)
{
	const struct hook *hook = event->function->hook;
	enum thread_wait wait;

	threads_event(&lanes->threads, event);
	wakes_event(&lanes->conditions, event);
	wakes_event(&lanes->semaphores, event);
	wakes_event(&lanes->futexes, event);
	lanes->call.waker = 0;
	wakes_event(&lanes->calls, event);
	if (event->part || event->moment == MOMENT_HALF || !threads_waits(hook, event, &wait))
		return;
	if (wait != THREAD_WAIT_JOIN && wait != THREAD_WAIT_OTHER)
		return;
	tell_call(lanes, hook, wait == THREAD_WAIT_JOIN ? LANE_JOIN : LANE_OTHER, event, false);
}

void lanes_note(struct lanes *lanes, const struct event *event)
{
	const char *call = event_argument(event, "call");
	bool is_open = call && !strcmp(event->function->name, NOTE_OPEN);
	const struct hook *hook = is_open ? hook_find(call) : NULL;
	enum thread_wait wait;

	threads_note(&lanes->threads, event);
	if (!hook || !threads_waits(hook, event, &wait))
		return;
	/*
	 * skip waits for locks and conditions that have not ended, because on_lock_wait() and
	 * on_condition() report them
	 */
	if (wait != THREAD_WAIT_LOCK && wait != THREAD_WAIT_CONDITION)
		tell_call(lanes, hook,
			  wait == THREAD_WAIT_SEMAPHORE ? LANE_SEMAPHORE
			  : wait == THREAD_WAIT_FUTEX	? LANE_FUTEX
			  : wait == THREAD_WAIT_JOIN	? LANE_JOIN
							: LANE_OTHER,
			  event, true);
}

/* ---- begin and end ---- */

void lanes_begin(struct lanes *lanes, struct report_run *run, const struct lanes_listener *listener)
{
	*lanes = (struct lanes){ .run = run,
				 .listener = *listener,
				 .next = run->summary->locks.listener };
	wakes_init(&lanes->conditions, RESOURCE_CONDITION);
	lanes->conditions.listener = on_condition;
	lanes->conditions.user = lanes;
	wakes_init(&lanes->semaphores, RESOURCE_SEMAPHORE);
	lanes->semaphores.listener = on_semaphore;
	lanes->semaphores.user = lanes;
	wakes_init(&lanes->futexes, RESOURCE_FUTEX);
	lanes->futexes.listener = on_futex;
	lanes->futexes.user = lanes;
	wakes_init(&lanes->calls, RESOURCE_CALL);
	lanes->calls.listener = on_call;
	lanes->calls.user = lanes;
	threads_init(&lanes->threads);
	run->summary->locks.listener = (struct locks_listener){ on_lock_wait, on_held, lanes };
}

void lanes_process(struct lanes *lanes)
{
	uint64_t end_ns = summary_current(lanes->run->summary)->end_ns;

	locks_finish(&lanes->run->summary->locks, end_ns);
	wakes_finish(&lanes->conditions, end_ns);
	wakes_finish(&lanes->semaphores, end_ns);
	wakes_finish(&lanes->futexes, end_ns);
}

void lanes_clear(struct lanes *lanes)
{
	wakes_clear(&lanes->conditions);
	wakes_clear(&lanes->semaphores);
	wakes_clear(&lanes->futexes);
	wakes_clear(&lanes->calls);
	threads_clear(&lanes->threads);
}

void lanes_free(struct lanes *lanes)
{
	wakes_free(&lanes->conditions);
	wakes_free(&lanes->semaphores);
	wakes_free(&lanes->futexes);
	wakes_free(&lanes->calls);
	threads_clear(&lanes->threads);
}
