/* SPDX-License-Identifier: MIT */
/*
 * The account of a trace has, for each process, a ledger of live objects, and the state of locks,
 * conditions and semaphores.
 */
#include "library/library.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"
#include "hook_table.h"
#include "notes.h"
#include "waits/locks.h"
#include "waits/wakes.h"

/* The part of the account for one stream (process) of the trace. */
struct library_process {
	const struct trace_process *of;
	uint32_t section; /* number of the stream in the trace, from 0 */
	uint64_t end_ns;  /* time of the last event */
	struct ledger *ledger;
	struct locks locks;
	struct wakes conditions, semaphores;
};

/* A call that was still waiting for a semaphore when its process ended. */
struct library_asleep {
	uint32_t section, thread, backtrace;
	uint64_t object, since_ns, ns;
};

struct library_account {
	ARRAY_OF(struct library_process *) processes;
	struct map by_section; /* index in `processes` + 1 */
	struct library_process *current;
	const struct trace_process *of; /* the process of `current` */
	ARRAY_OF(struct library_asleep) asleep;
	bool is_finished; /* the waits of all processes are complete */
	/* an allocation failed, so the account is incomplete and must only be freed */
	bool has_failed;
	ARRAY_OF(struct passed_stream) streams; /* indexed by process */

	/* the latest results, which the caller of the library reads */
	ARRAY_OF(struct holdtrace_object) held;
	ARRAY_OF(struct holdtrace_site) places;
	ARRAY_OF(struct holdtrace_wait) waits;
};

/*
 * The code that keeps the account does not check allocations: if an allocation fails, longjmp()
 * returns to account_run(). Therefore this code must acquire no resource other than memory that
 * belongs to the account.
 */
static _Thread_local jmp_buf no_memory;

static void jump_out(void)
{
	longjmp(no_memory, 1);
}

typedef void account_work(struct library_account *account, const struct event *event);

static int account_run(struct library_account *account, account_work *work,
		       const struct event *event, struct error *err)
{
	memory_end *before = memory_set_thread_end(jump_out);

	if (!account->has_failed) {
		if (setjmp(no_memory))
			account->has_failed = true;
		else
			work(account, event);
	}
	memory_set_thread_end(before);
	if (account->has_failed)
		return error_system(err, ENOMEM, "cannot store live objects and waits");
	return 0;
}

struct library_account *library_account_create(void)
{
	struct library_account *account = calloc(1, sizeof(*account));

	if (account)
		map_init(&account->by_section);
	return account;
}

void library_account_destroy(struct library_account *account)
{
	if (!account)
		return;
	for (size_t i = 0; i < account->processes.count; i++) {
		struct library_process *process = account->processes.items[i];

		if (!process)
			continue;
		ledger_destroy(process->ledger);
		locks_free(&process->locks);
		wakes_free(&process->conditions);
		wakes_free(&process->semaphores);
		free(process);
	}
	free(account->processes.items);
	map_clear(&account->by_section);
	free(account->asleep.items);
	free(account->streams.items);
	free(account->held.items);
	free(account->places.items);
	free(account->waits.items);
	free(account);
}

/* ---- events ---- */

/* Adds a call that never returned (~open note): it waited for a lock or a semaphore. */
static void on_open(struct library_account *account, const struct event *event)
{
	const char *call = event_argument(event, "call");
	const struct hook *hook = call ? hook_find(call) : NULL;

	if (!hook || !hook_may_sleep(hook))
		return;
	if (hook->resource != RESOURCE_SEMAPHORE) {
		locks_open(&account->current->locks, event, hook);
		return;
	}
	*ARRAY_ADD(&account->asleep) = (struct library_asleep){
		.section = account->current->section,
		.thread = event->thread,
		.backtrace = event->backtrace ? event->backtrace->id : HOLDTRACE_NO_ID,
		.object = event->object,
		.since_ns = event->enter_ns,
		.ns = event->leave_ns > event->enter_ns ? event->leave_ns - event->enter_ns : 0,
	};
}

static void on_event(struct library_account *account, const struct event *event)
{
	struct library_process *process;

	if (account->of != event->process) {
		uint32_t number = map_get(&account->by_section, 0, event->process->section - 1);

		if (!number) {
			struct library_process **place = ARRAY_ADD(&account->processes);

			*place = NULL;
			*place = process = memory_zalloc(1, sizeof(*process));
			process->of = event->process;
			process->section = event->process->section - 1;
			locks_init(&process->locks);
			wakes_init(&process->conditions, RESOURCE_CONDITION);
			wakes_init(&process->semaphores, RESOURCE_SEMAPHORE);
			number = (uint32_t)account->processes.count;
			map_put(&account->by_section, 0, process->section)->value = number;
			process->ledger = ledger_create(false);
		}
		account->current = account->processes.items[number - 1];
		account->of = event->process;
	}
	process = account->current;
	ledger_event(process->ledger, event);
	if (event->kind == EVENT_NOTE) {
		const char *name = event->function->name, *locks;

		if (!strcmp(name, NOTE_SETTINGS)) {
			locks = event_argument(event, "locks");
			process->locks.is_contended = locks && !strcmp(locks, "contended");
		}
		if (!strcmp(name, NOTE_END) && event->time_ns > process->end_ns)
			process->end_ns = event->time_ns;
		if (!strcmp(name, NOTE_OPEN))
			on_open(account, event);
		return;
	}
	if (event->time_ns > process->end_ns)
		process->end_ns = event->time_ns;
	locks_event(&process->locks, event);
	wakes_event(&process->conditions, event);
	wakes_event(&process->semaphores, event);
}

int library_account_event(struct library_account *account, const struct event *event,
			  struct error *err)
{
	return account_run(account, on_event, event, err);
}

/* ---- live objects ---- */

/* Checks that the trace has an account. Returns 0 or -EINVAL. */
static int ask_account(const struct holdtrace_trace *trace, struct error *err)
{
	return trace->account
		       ? 0
		       : error_set(err, EINVAL, "the trace was opened without HOLDTRACE_ACCOUNT");
}

/*
 * Adds a live object to the result. end_ns: the end of the process. For an object that an exec
 * passed on to another program: the end of the last program that has the object.
 */
static void add_held(struct library_account *account, const struct library_process *process,
		     const struct ledger_held *object, uint64_t end_ns)
{
	const struct ledger_item *item = object->item;
	const struct site *site = sites_at(ledger_sites(process->ledger), object->site);
	/* number of blocks that a sampled block represents; 1 if all blocks were recorded */
	uint32_t weight = object->count < UINT32_MAX ? (uint32_t)object->count : UINT32_MAX;

	*ARRAY_ADD(&account->held) = (struct holdtrace_object){
		.object = object->object,
		.bytes = object->bytes,
		.time_ns = item->acquired_ns,
		.age_ns = end_ns > item->acquired_ns ? end_ns - item->acquired_ns : 0,
		.index = item->index,
		.process = process->section,
		.function = site->function->id,
		.resource = site->resource->id,
		.backtrace = site->backtrace ? site->backtrace->id : HOLDTRACE_NO_ID,
		.thread = ledger_thread(process->ledger, item->thread),
		.count = site->resource->known == RESOURCE_MEMORY ? weight : item->count,
		.is_part = object->is_part && !ledger_is_replaced(process->ledger),
	};
}

/* Orders objects of the same call by address, so that the result does not depend on hashes. */
static int compare_held(const void *left, const void *right)
{
	const struct holdtrace_object *a = left, *b = right;

	return ORDER(a->index, b->index)
		?: ORDER(a->process, b->process)
		?: ORDER(a->object, b->object);
}

static void gather_objects(struct library_account *account, const struct event *event)
{
	size_t count = account->processes.count;

	(void)event;
	account->held.count = account->streams.count = 0;
	for (size_t i = 0; i < count; i++)
		*ARRAY_ADD(&account->streams) =
			(struct passed_stream){ account->processes.items[i]->of,
						account->processes.items[i]->ledger };
	for (size_t i = 0; i < count; i++) {
		const struct library_process *process = account->processes.items[i];
		struct ledger_held object;

		for (size_t at = 0; ledger_held(process->ledger, &at, &object);)
			add_held(account, process, &object, process->end_ns);
		/* adds the descriptors that stayed open across an exec of the process */
		for (size_t at = 0; ledger_passed(process->ledger, &at, &object);) {
			size_t last = passed_to(account->streams.items, count, i, object.object);

			if (last < count)
				add_held(account, process, &object,
					 account->processes.items[last]->end_ns);
		}
	}
	ARRAY_SORT(&account->held, compare_held);
}

PUBLIC long holdtrace_trace_live(struct holdtrace_trace *trace,
				 const struct holdtrace_object **held,
				 struct holdtrace_error *error)
{
	struct error err = { 0 };

	*held = NULL;
	if (ask_account(trace, &err) || account_run(trace->account, gather_objects, NULL, &err))
		return library_fail(error, &err);
	*held = trace->account->held.items;
	return (long)trace->account->held.count;
}

/* ---- by call site ---- */

/* The state of holdtrace_trace_sites() while it collects call sites. */
struct places {
	struct map index;	/* site numbers, by class and by node of the address map */
	uint32_t *last_process; /* process of a site's last object; indexed by site number - 1 */
	size_t last_capacity;
	const char **classes; /* names, indexed by class number - 1 */
	size_t class_count, class_capacity;
};

/* Returns the number of a class name (each stream has its own classes); 0: no memory. */
static uint32_t class_number(struct places *places, const char *class)
{
	for (size_t i = 0; i < places->class_count; i++)
		if (!strcmp(places->classes[i], class))
			return (uint32_t)i + 1;
	if (places->class_count == places->class_capacity &&
	    array_grow(&places->classes, &places->class_capacity, sizeof(*places->classes)))
		return 0;
	places->classes[places->class_count++] = class;
	return (uint32_t)places->class_count;
}

/* Returns the number (index + 1) of the object's call site, which may be new; 0: no memory. */
static uint32_t place_of(struct holdtrace_trace *trace, struct places *places,
			 const struct holdtrace_object *held)
{
	const struct backtrace *backtrace = trace_backtrace(trace->trace, held->backtrace);
	const struct trace_node *frames =
		backtrace ? library_names_place(trace->names, backtrace) : NULL;
	uint32_t class = class_number(places, trace->resources.items[held->resource]);
	uint32_t number = map_get(&places->index, class, (uintptr_t)frames);
	struct holdtrace_site *place;

	if (number || !class || (backtrace && !frames))
		return number;
	place = ARRAY_ADD(&trace->account->places);
	number = (uint32_t)trace->account->places.count;
	if (!place || map_set(&places->index, class, (uintptr_t)frames, number))
		return 0;
	while (places->last_capacity < number)
		if (array_grow(&places->last_process, &places->last_capacity,
			       sizeof(*places->last_process)))
			return 0;
	places->last_process[number - 1] = HOLDTRACE_NO_ID;
	*place = (struct holdtrace_site){ .function = held->function,
					  .resource = held->resource,
					  .backtrace = held->backtrace };
	return number;
}

static bool add_to_place(struct holdtrace_trace *trace, struct places *places,
			 const struct holdtrace_object *held)
{
	uint32_t number = place_of(trace, places, held);
	struct holdtrace_site *place;

	if (!number)
		return false;
	place = &trace->account->places.items[number - 1];
	place->count += strcmp(trace->resources.items[held->resource], "memory") ? 1 : held->count;
	place->bytes += held->bytes;
	if (held->age_ns > place->oldest_ns)
		place->oldest_ns = held->age_ns;
	place->processes += places->last_process[number - 1] != held->process;
	places->last_process[number - 1] = held->process;
	return true;
}

static int compare_places(const void *left, const void *right)
{
	const struct holdtrace_site *a = left, *b = right;

	return ORDER(b->bytes, a->bytes)
		?: ORDER(b->count, a->count)
		?: ORDER(a->backtrace, b->backtrace);
}

/*
 * Orders objects by process: the address map contains the mappings of only one process at a time.
 */
static int compare_processes(const void *left, const void *right)
{
	const struct holdtrace_object *a = left, *b = right;

	return ORDER(a->process, b->process) ?: compare_held(left, right);
}

PUBLIC long holdtrace_trace_sites(struct holdtrace_trace *trace,
				  const struct holdtrace_site **places,
				  struct holdtrace_error *error)
{
	struct library_account *account = trace->account;
	struct places state = { 0 };
	struct error err = { 0 };
	bool is_done = true;

	*places = NULL;
	if (ask_account(trace, &err) || account_run(account, gather_objects, NULL, &err))
		return library_fail(error, &err);
	account->places.count = 0;
	ARRAY_SORT(&account->held, compare_processes);
	map_init(&state.index);
	for (size_t i = 0; is_done && i < account->held.count; i++)
		if (!account->held.items[i].is_part)
			is_done = add_to_place(trace, &state, &account->held.items[i]);
	map_clear(&state.index);
	free(state.last_process);
	free(state.classes);
	ARRAY_SORT(&account->places, compare_places);
	if (!is_done) {
		error_system(&err, ENOMEM, "cannot collect live objects");
		return library_fail(error, &err);
	}
	*places = account->places.items;
	return (long)account->places.count;
}

/* ---- waits ---- */

static uint32_t backtrace_of(const struct sites *sites, uint32_t site)
{
	const struct backtrace *backtrace = site ? sites_at(sites, site)->backtrace : NULL;

	return backtrace ? backtrace->id : HOLDTRACE_NO_ID;
}

static void add_locks(struct library_account *account, const struct library_process *process)
{
	const struct locks *locks = &process->locks;

	for (size_t i = 1; i < locks->pairs.count; i++) {
		const struct locks_pair *pair = &locks->pairs.items[i];
		*ARRAY_ADD(&account->waits) = (struct holdtrace_wait){
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
	}
}

static void add_wakes(struct library_account *account, const struct library_process *process,
		      const struct wakes *wakes, const char *kind)
{
	for (size_t i = 1; i < wakes->pairs.count; i++) {
		const struct wakes_pair *pair = &wakes->pairs.items[i];
		const struct wakes_wait *longest = &pair->longest;
		*ARRAY_ADD(&account->waits) = (struct holdtrace_wait){
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
	}
}

static int compare_waits(const void *left, const void *right)
{
	const struct holdtrace_wait *a = left, *b = right;

	return ORDER(b->total_ns, a->total_ns) ?: ORDER(b->count, a->count) ?: ORDER(a->since_ns, b->since_ns);
}

static void finish_waits(struct library_account *account, const struct event *event)
{
	(void)event;
	for (size_t i = 0; i < account->processes.count; i++) {
		struct library_process *process = account->processes.items[i];

		locks_finish(&process->locks, process->end_ns);
		wakes_finish(&process->conditions, process->end_ns);
		wakes_finish(&process->semaphores, process->end_ns);
		add_locks(account, process);
		add_wakes(account, process, &process->conditions, "condition");
		add_wakes(account, process, &process->semaphores, "semaphore");
	}
	for (size_t i = 0; i < account->asleep.count; i++) {
		const struct library_asleep *asleep = &account->asleep.items[i];
		*ARRAY_ADD(&account->waits) = (struct holdtrace_wait){
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
	}
	ARRAY_SORT(&account->waits, compare_waits);
	account->is_finished = true;
}

PUBLIC long holdtrace_trace_waits(struct holdtrace_trace *trace,
				  const struct holdtrace_wait **waits,
				  struct holdtrace_error *error)
{
	struct error err = { 0 };
	int ret;

	*waits = NULL;
	if (ask_account(trace, &err))
		return library_fail(error, &err);
	ret = holdtrace_trace_skip(trace, error);
	if (ret < 0)
		return ret;
	if (!trace->account->is_finished && account_run(trace->account, finish_waits, NULL, &err))
		return library_fail(error, &err);
	*waits = trace->account->waits.items;
	return (long)trace->account->waits.count;
}
