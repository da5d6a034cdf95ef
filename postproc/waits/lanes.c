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
 * Returns the backtrace of a site, or NULL if `index` is 0. If `function` is not NULL, sets
 * *function to the name of the site's function.
 */
static const struct trace_node *backtrace_of(const struct lanes *lanes, const struct sites *sites,
					     uint32_t index, const char **function)
{
	const struct site *site = index ? sites_at(sites, index) : NULL;

	if (!site)
		return NULL;
	if (function)
		*function = site->function->name;
	return report_site(lanes->run, site);
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

static void on_wake(void *user, const struct wakes_wait *found)
{
	const struct lanes_class *class = user;
	struct lanes *lanes = class->lanes;
	struct lane_wait wait = {
		.kind = class->kind,
		.end = ends[found->end],
		.object = found->object,
		.since_ns = found->since_ns,
		.until_ns = found->since_ns + found->ns,
		.thread = found->thread,
		.waker_thread = found->waker_thread,
		.woken_ns = found->woken_ns,
		.is_open = found->end == WAKES_ASLEEP,
	};

	/* tell_call() reports these waits later, with the call's event */
	if (class->kind == LANE_OTHER) {
		lanes->call = *found;
		return;
	}
	if (class->kind == LANE_SEMAPHORE &&
	    (found->end == WAKES_AT_ONCE || found->end == WAKES_REFUSED))
		return;
	wait.waiter = backtrace_of(lanes, &class->wakes.sites, found->waiter, &wait.function);
	wait.waker = backtrace_of(lanes, &class->wakes.sites, found->waker, NULL);
	if (wait.waiter)
		tell(lanes, &wait);
}

/* ---- other waits ---- */

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
		.waiter = report_caller(lanes->run, event),
	};
	const struct thread_life *joined = NULL;

	if (hook->resource == RESOURCE_THREAD && event->object)
		joined = threads_of_handle(&lanes->threads, event->object);
	if (joined)
		wait.waker_thread = joined->tid;
	if (!is_open && lanes->call.waker) {
		wait.end = ends[lanes->call.end];
		wait.waker = backtrace_of(lanes, &lanes->classes[LANES_CALLS].wakes.sites,
					  lanes->call.waker, NULL);
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
	lanes->call.waker = 0;
	for (unsigned i = 0; i < LANES_CLASSES; i++)
		wakes_event(&lanes->classes[i].wakes, event);
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
	 * on_wake() report them
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
	static const struct {
		enum lane_kind kind;
		enum resource resource;
	} classes[LANES_CLASSES] = {
		{ LANE_CONDITION, RESOURCE_CONDITION },
		{ LANE_SEMAPHORE, RESOURCE_SEMAPHORE },
		{ LANE_FUTEX, RESOURCE_FUTEX },
		[LANES_CALLS] = { LANE_OTHER, RESOURCE_CALL },
	};

	*lanes = (struct lanes){ .run = run,
				 .listener = *listener,
				 .next = run->summary->locks.listener };
	for (unsigned i = 0; i < LANES_CLASSES; i++) {
		struct lanes_class *class = &lanes->classes[i];

		wakes_init(&class->wakes, classes[i].resource);
		class->wakes.listener = on_wake;
		class->wakes.user = class;
		class->lanes = lanes;
		class->kind = classes[i].kind;
	}
	threads_init(&lanes->threads);
	run->summary->locks.listener = (struct locks_listener){ on_lock_wait, on_held, lanes };
}

void lanes_process(struct lanes *lanes)
{
	uint64_t end_ns = summary_current(lanes->run->summary)->end_ns;

	locks_finish(&lanes->run->summary->locks, end_ns);
	for (unsigned i = 0; i < LANES_CALLS; i++)
		wakes_finish(&lanes->classes[i].wakes, end_ns);
}

void lanes_clear(struct lanes *lanes)
{
	for (unsigned i = 0; i < LANES_CLASSES; i++)
		wakes_clear(&lanes->classes[i].wakes);
	threads_clear(&lanes->threads);
}

void lanes_free(struct lanes *lanes)
{
	for (unsigned i = 0; i < LANES_CLASSES; i++)
		wakes_free(&lanes->classes[i].wakes);
	threads_clear(&lanes->threads);
}
