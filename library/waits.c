/* SPDX-License-Identifier: MIT */
/* Waits between threads, after the trace was read to its end. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/order.h"
#include "library/account.h"
#include "library/library.h"

static uint32_t backtrace_of(const struct sites *sites, uint32_t site)
{
	const struct backtrace *backtrace = site ? sites_at(sites, site)->backtrace : NULL;

	return backtrace ? backtrace->id : HOLDTRACE_NO_ID;
}

static bool add(struct library_account *account, const struct holdtrace_wait *wait)
{
	struct holdtrace_wait *place = ARRAY_ADD(&account->waits);

	if (place)
		*place = *wait;
	return place != NULL;
}

static bool add_locks(struct library_account *account, const struct library_process *process)
{
	const struct locks *locks = &process->locks;

	for (size_t i = 1; i < locks->pairs.count; i++) {
		const struct locks_pair *pair = &locks->pairs.items[i];
		const struct holdtrace_wait wait = {
			.kind = locks_way_name(sites_at(&locks->sites, pair->waiter)->class),
			.ended = "",
			.count = pair->count,
			.total_ns = pair->ns,
			.longest_ns = pair->longest_ns,
			.since_ns = pair->since_ns,
			.object = pair->object,
			.thread = pair->waiter_thread,
			.waker_thread = pair->holder_thread,
			.process = process->section,
			.backtrace = backtrace_of(&locks->sites, pair->waiter),
			.waker_backtrace = backtrace_of(&locks->sites, pair->holder),
		};

		if (!add(account, &wait))
			return false;
	}
	return true;
}

static bool add_wakes(struct library_account *account, const struct library_process *process,
		      const struct wakes *wakes, const char *kind)
{
	for (size_t i = 1; i < wakes->pairs.count; i++) {
		const struct wakes_pair *pair = &wakes->pairs.items[i];
		const struct wakes_wait *longest = &pair->longest;
		const struct holdtrace_wait wait = {
			.kind = kind,
			.ended = wakes_end_name(wakes->resource, longest->end),
			.count = pair->count,
			.total_ns = pair->ns,
			.longest_ns = longest->ns,
			.since_ns = longest->since_ns,
			.object = longest->object,
			.thread = longest->thread,
			.waker_thread = longest->waker ? longest->waker_thread : 0,
			.process = process->section,
			.backtrace = backtrace_of(&wakes->sites, longest->waiter),
			.waker_backtrace = backtrace_of(&wakes->sites, longest->waker),
		};

		if (!add(account, &wait))
			return false;
	}
	return true;
}

static bool add_asleep(struct library_account *account)
{
	for (size_t i = 0; i < account->asleep.count; i++) {
		const struct library_asleep *asleep = &account->asleep.items[i];
		const struct holdtrace_wait wait = {
			.kind = "semaphore",
			.ended = wakes_end_name(RESOURCE_SEMAPHORE, WAKES_ASLEEP),
			.count = 1,
			.total_ns = asleep->ns,
			.longest_ns = asleep->ns,
			.since_ns = asleep->since_ns,
			.object = asleep->object,
			.thread = asleep->thread,
			.process = asleep->section,
			.backtrace = asleep->backtrace,
			.waker_backtrace = HOLDTRACE_NO_ID,
		};

		if (!add(account, &wait))
			return false;
	}
	return true;
}

static int compare(const void *left, const void *right)
{
	const struct holdtrace_wait *a = left, *b = right;

	return ORDER(b->total_ns, a->total_ns) ?: ORDER(b->count, a->count) ?: ORDER(a->since_ns, b->since_ns);
}

static int finish(struct library_account *account)
{
	if (account->is_finished)
		return 0;
	for (size_t i = 0; i < account->processes.count; i++) {
		struct library_process *process = account->processes.items[i];

		if (locks_finish(&process->locks, process->end_ns) ||
		    wakes_finish(&process->conditions, process->end_ns) ||
		    wakes_finish(&process->semaphores, process->end_ns) ||
		    !add_locks(account, process) ||
		    !add_wakes(account, process, &process->conditions, "condition") ||
		    !add_wakes(account, process, &process->semaphores, "semaphore"))
			return -ENOMEM;
	}
	if (!add_asleep(account))
		return -ENOMEM;
	if (account->waits.count)
		qsort(account->waits.items, account->waits.count, sizeof(*account->waits.items),
		      compare);
	account->is_finished = true;
	return 0;
}

PUBLIC long holdtrace_trace_waits(struct holdtrace_trace *trace,
				  const struct holdtrace_wait **waits,
				  struct holdtrace_error *error)
{
	struct error err = { 0 };
	int ret;

	*waits = NULL;
	if (library_account_ask(trace, &err))
		return library_fail(error, &err);
	ret = holdtrace_trace_skip(trace, error);
	if (ret < 0)
		return ret;
	if (finish(trace->account)) {
		error_system(&err, ENOMEM, "cannot gather waits");
		return library_fail(error, &err);
	}
	*waits = trace->account->waits.items;
	return (long)trace->account->waits.count;
}
