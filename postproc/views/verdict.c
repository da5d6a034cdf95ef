/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "hook_table.h"
#include "postproc/views/ledger.h"
#include "postproc/views/summary_fold.h"

/* ---- what a process still holds ---- */

struct site_key {
	const struct summary *summary;
	uint32_t class;
	bool is_part;
	const struct atlas_backtrace *backtrace;
	const char *function;
};

/* Sites stand in the table by their index + 1, since their array moves. */
static bool is_site(const void *item, const void *key)
{
	const struct site_key *wanted = key;
	const struct summary_site *site = &wanted->summary->sites.items[(uintptr_t)item - 1];

	return site->class == wanted->class && site->is_part == wanted->is_part &&
	       site->backtrace == wanted->backtrace &&
	       (wanted->backtrace->count || !strcmp(site->function, wanted->function));
}

static int add_site(struct summary *summary, const struct site_key *key, uint64_t hash)
{
	struct summary_site *site = ARRAY_ADD(&summary->sites);

	if (!site)
		return -ENOMEM;
	*site = (struct summary_site){
		.class = key->class,
		.is_part = key->is_part,
		.backtrace = key->backtrace,
		.function = pool_text(&summary->pool, key->function, strlen(key->function)),
		.last_process = UINT32_MAX,
		.order = (uint32_t)summary->sites.count,
	};
	if (!site->function)
		return -ENOMEM;
	return table_add(&summary->sites_by_place, hash, (void *)(uintptr_t)summary->sites.count);
}

/* Index + 1 of the run's site for one of the process's; 0: no memory. */
static uint32_t site_of(struct summary *summary, const struct site *site)
{
	struct site_key key = {
		.summary = summary,
		.class = site->class,
		.is_part = site->is_part,
		.backtrace = atlas_backtrace(&summary->atlas, site->backtrace, site->index),
		.function = site->function->name,
	};
	uint64_t hash =
		hash_two(summary->sites_by_place.seed, (uintptr_t)key.backtrace, site->class);
	void *found;

	if (!key.backtrace)
		return 0;
	found = table_find(&summary->sites_by_place, hash, is_site, &key);
	if (found)
		return (uint32_t)(uintptr_t)found;
	return add_site(summary, &key, hash) ? 0 : (uint32_t)summary->sites.count;
}

/* *place: index + 1 of the site in the run. */
static int close_site(struct summary *summary, const struct site *site, uint32_t *place)
{
	uint64_t amount = site->bytes ? site->bytes : site->held;
	struct summary_site *run;

	*place = site_of(summary, site);
	if (!*place)
		return -ENOMEM;
	run = &summary->sites.items[*place - 1];
	run->count += site->held;
	run->bytes += site->bytes;
	if (run->last_process != summary->processes.count)
		run->processes++;
	run->last_process = (uint32_t)summary->processes.count;
	if (amount > run->most) {
		run->most = amount;
		run->process = run->last_process;
	}
	return 0;
}

/* Whether b says more shortly what a site is about; the same answer in whatever order they come. */
static bool is_shorter(const char *a, const char *b)
{
	size_t length_a = strlen(a), length_b = strlen(b);

	return length_a != length_b ? length_b < length_a : strcmp(b, a) < 0;
}

static int keep_example(struct summary *summary, struct summary_site *site, const char *example)
{
	site->has_more_examples |= site->example && strcmp(site->example, example) != 0;
	if (site->example && !is_shorter(site->example, example))
		return 0;
	site->example = pool_text(&summary->pool, example, strlen(example));
	return site->example ? 0 : -ENOMEM;
}

static void count_part(struct summary_class *class, const struct site *site)
{
	const struct hook *hook = site->function->hook;

	class->held_parts++;
	class->parts_of |= hook ? 1u << hook->resource : 0;
}

/* places: for each site of the process, index + 1 in the run; 0: it holds nothing. */
static int close_objects(struct summary *summary, const uint32_t *places)
{
	struct summary_fold *fold = summary->fold;
	struct held *held;
	size_t at = 0;

	while ((held = held_next(&fold->held, &at)) != NULL) {
		struct summary_class *class = &summary->classes[held->class];

		if (sites_at(&fold->sites, held->site)->is_part)
			count_part(class, sites_at(&fold->sites, held->site));
		if (!summary_has_example(class) || !held->example)
			continue;
		if (keep_example(summary, &summary->sites.items[places[held->site] - 1],
				 held->example))
			return -ENOMEM;
		free(held->example);
		held->example = NULL;
	}
	return 0;
}

static int close_sites(struct summary *summary)
{
	struct sites *sites = &summary->fold->sites;
	cleanup_free uint32_t *places = calloc(sites->list.count + 1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (uint32_t i = 1; i < sites->list.count; i++)
		if (sites_at(sites, i)->held && close_site(summary, sites_at(sites, i), &places[i]))
			return -ENOMEM;
	return close_objects(summary, places);
}

/* ---- what it used ---- */

static void close_class(struct summary *summary, uint32_t index)
{
	struct summary_fold *fold = summary->fold;
	struct summary_process *process = &fold->process;
	struct summary_class *class = &summary->classes[index];
	struct fold_class *now = &fold->now[index];

	if (process->end != SUMMARY_EXEC) {
		class->held += now->count;
		class->held_bytes += now->bytes;
	}
	if (process->end == SUMMARY_KILLED) {
		class->killed += now->count;
		class->killed_bytes += now->bytes;
	}
	if (now->peak.amount > class->peak.amount) {
		class->peak = now->peak;
		class->peak.process = (uint32_t)summary->processes.count;
	}
	process->held[class->known] += now->count;
	if (class->known != RESOURCE_MEMORY)
		return;
	process->held_bytes = now->bytes;
	process->peak_bytes = now->peak.amount;
}

/* The backtrace of a site in the atlas; NULL: there is none. */
static int place_of(struct summary *summary, uint32_t index, const struct atlas_backtrace **place)
{
	const struct site *site;

	*place = NULL;
	if (!index)
		return 0;
	site = sites_at(&summary->fold->sites, index);
	*place = atlas_backtrace(&summary->atlas, site->backtrace, site->index);
	return *place ? 0 : -ENOMEM;
}

static int close_waits(struct summary *summary, uint32_t index)
{
	struct summary_hot *hot = &summary->classes[index].hot;
	uint64_t least_ns = summary->classes[index].waits.is_sure ? 0 : 1000;
	const struct waits_object *object = waits_hottest(&summary->fold->waits, index, least_ns);

	if (!object || waits_ns(&object->times, least_ns) <= waits_ns(&hot->times, least_ns))
		return 0;
	hot->object = object->object;
	hot->pid = summary->fold->process.pid;
	hot->times = object->times;
	if (place_of(summary, object->waiter, &hot->waiter))
		return -ENOMEM;
	return place_of(summary, object->other, &hot->other);
}

/* ---- who waits at the end ---- */

static const struct held *holder_of(struct summary *summary, const struct fold_open *open)
{
	if (open->resource != RESOURCE_LOCK)
		return NULL;
	for (uint32_t i = 0; i < summary->class_count; i++)
		if (summary->classes[i].known == RESOURCE_LOCK)
			return held_find(&summary->fold->held, i, open->object);
	return NULL;
}

/* The lock that a thread waits for at the end, or NULL. */
static const struct fold_open *open_of(const struct summary_fold *fold, uint64_t thread)
{
	for (size_t i = 0; i < fold->open.count; i++)
		if (fold->open.items[i].thread == thread &&
		    fold->open.items[i].resource == RESOURCE_LOCK)
			return &fold->open.items[i];
	return NULL;
}

/* Follows from a waiting thread to the holder, and to what that waits for, back to the start. */
static bool is_deadlock(struct summary *summary, const struct fold_open *first)
{
	const struct fold_open *open = first;

	for (size_t i = 0; i <= summary->fold->open.count; i++) {
		const struct held *holder = holder_of(summary, open);

		if (!holder)
			return false;
		if (holder->thread == first->thread)
			return true;
		open = open_of(summary->fold, holder->thread);
		if (!open)
			return false;
	}
	return false;
}

static int add_blocked(struct summary *summary, const struct fold_open *open)
{
	const struct held *holder = holder_of(summary, open);
	struct summary_blocked *blocked = ARRAY_ADD(&summary->blocked);

	if (!blocked)
		return -ENOMEM;
	*blocked = (struct summary_blocked){
		.function = open->function,
		.resource = open->resource,
		.object = open->object,
		.related = open->related,
		.pid = summary->fold->process.pid,
		.thread = open->thread,
		.threads = 1,
		.longest_ns = open->waited_ns,
		.backtrace = atlas_backtrace(&summary->atlas, open->backtrace, open->index),
		.has_holder = holder != NULL,
		.holder = holder ? (uint32_t)holder->thread : 0,
		.is_deadlock = is_deadlock(summary, open),
	};
	summary->deadlocked += blocked->is_deadlock;
	if (!blocked->backtrace)
		return -ENOMEM;
	return holder ? place_of(summary, holder->site, &blocked->holder_backtrace) : 0;
}

/* Several threads in the same call for the same object are one line. first: of this process. */
static int close_open(struct summary *summary, const struct fold_open *open, size_t first)
{
	for (size_t i = first; i < summary->blocked.count; i++) {
		struct summary_blocked *blocked = &summary->blocked.items[i];

		if (blocked->object != open->object || strcmp(blocked->function, open->function) ||
		    blocked->is_deadlock || is_deadlock(summary, open))
			continue;
		blocked->threads++;
		if (open->waited_ns > blocked->longest_ns)
			blocked->longest_ns = open->waited_ns;
		return 0;
	}
	return add_blocked(summary, open);
}

static int close_all_open(struct summary *summary)
{
	size_t first = summary->blocked.count;

	for (size_t i = 0; i < summary->fold->open.count; i++)
		if (close_open(summary, &summary->fold->open.items[i], first))
			return -ENOMEM;
	return 0;
}

/* ---- the end of a process ---- */

static void clear_fold(struct summary *summary)
{
	struct summary_fold *fold = summary->fold;

	summary_forget_held(summary);
	held_free(&fold->threads);
	sites_clear(&fold->sites);
	waits_free(&fold->waits);
	waits_init(&fold->waits);
	memset(fold->now, 0, sizeof(fold->now));
	memset(fold->thread_cache, 0, sizeof(fold->thread_cache));
	fold->inherited.count = 0;
	fold->open.count = 0;
	fold->command_length = 0;
	fold->process = (struct summary_process){ 0 };
	fold->is_begun = false;
	atlas_begin_process(&summary->atlas);
}

/*
 * The library looks malloc up by its name, and in a program that is linked to a fixed address it
 * finds a stub of the program that leads to itself: then its calls are in the trace all the same.
 */
static bool calls_malloc(const struct sites *sites)
{
	static const char *const names[] = { "malloc", "calloc", "realloc" };

	for (uint32_t i = 1; i < sites->list.count; i++)
		for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++)
			if (!strcmp(sites_at(sites, i)->function->name, names[n]))
				return true;
	return false;
}

static int keep_process(struct summary *summary)
{
	struct summary_fold *fold = summary->fold;
	struct summary_process *process = ARRAY_ADD(&summary->processes);

	if (!process)
		return -ENOMEM;
	*process = fold->process;
	process->number = (uint32_t)summary->processes.count - 1;
	process->path = fold->path;
	if (process->allocator && calls_malloc(&fold->sites))
		process->allocator = NULL;
	process->threads = (uint32_t)fold->threads.count;
	process->inherited = fold->inherited.count;
	process->command = pool_text(&summary->pool, fold->command, fold->command_length);
	summary->events += process->events;
	summary->lost += process->lost;
	summary->inherited += process->inherited;
	return process->command ? 0 : -ENOMEM;
}

/* A program that ran another one holds nothing, and its other threads were ended. */
int verdict_process(struct summary *summary, struct error *err)
{
	bool was_replaced = summary->fold->process.end == SUMMARY_EXEC;
	int rc = was_replaced ? 0 : close_sites(summary);

	for (uint32_t i = 0; i < summary->class_count && rc == 0; i++) {
		close_class(summary, i);
		rc = close_waits(summary, i);
	}
	if (rc == 0 && !was_replaced)
		rc = close_all_open(summary);
	if (rc == 0)
		rc = touched_process(&summary->touched, &summary->atlas);
	if (rc == 0)
		rc = keep_process(summary);
	if (rc)
		return summary_no_memory(err);
	clear_fold(summary);
	return 0;
}

/* ---- the end of the run ---- */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_sites(const void *left, const void *right, void *context)
{
	const struct summary_site *a = left, *b = right;
	const struct summary *summary = context;
	int order = compare(ledger_rank(summary->classes[a->class].known),
			    ledger_rank(summary->classes[b->class].known));

	if (!order)
		order = compare(a->class, b->class);
	if (!order)
		order = compare(b->bytes, a->bytes);
	if (!order)
		order = compare(b->count, a->count);
	return order ? order : compare(a->order, b->order);
}

static int compare_blocked(const void *left, const void *right)
{
	const struct summary_blocked *a = left, *b = right;
	int order = compare(b->is_deadlock, a->is_deadlock);

	if (!order)
		order = compare(b->resource == RESOURCE_LOCK, a->resource == RESOURCE_LOCK);
	return order ? order : compare(b->longest_ns, a->longest_ns);
}

/* The root first, then in the order of their start. */
static int compare_processes(const void *left, const void *right)
{
	const struct summary_process *a = left, *b = right;
	int order = compare(a->start_ns, b->start_ns);

	if (!order)
		order = compare(a->stream, b->stream);
	return order ? order : compare(a->pid, b->pid);
}

static bool is_first_of_pid(const struct summary *summary, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (summary->processes.items[i].pid == summary->processes.items[index].pid)
			return false;
	return true;
}

static void sum_gaps(struct summary *summary, const struct summary_process *process)
{
	summary->allocators += process->allocator != NULL;
	if (process->pauses > summary->pauses)
		summary->pauses = process->pauses;
	if (process->pause_ns > summary->pause_ns)
		summary->pause_ns = process->pause_ns;
}

static void sum_processes(struct summary *summary)
{
	for (size_t i = 0; i < summary->processes.count; i++) {
		const struct summary_process *process = &summary->processes.items[i];
		bool is_first;

		sum_gaps(summary, process);
		if (process->start_ns &&
		    (!summary->start_ns || process->start_ns < summary->start_ns))
			summary->start_ns = process->start_ns;
		if (process->end_ns > summary->end_ns)
			summary->end_ns = process->end_ns;
		/* Beyond this, pids are not looked up one by one. */
		is_first = i >= 4096 || is_first_of_pid(summary, i);
		summary->pids += is_first;
		/* An exec goes on in a thread that is counted already; who called nothing is one,
		 * too. */
		if (process->has_tails)
			summary->threads += (process->threads ? process->threads : 1) - !is_first;
	}
}

void verdict_run(struct summary *summary)
{
	if (summary->processes.count)
		qsort(summary->processes.items, summary->processes.count,
		      sizeof(*summary->processes.items), compare_processes);
	if (summary->blocked.count)
		qsort(summary->blocked.items, summary->blocked.count,
		      sizeof(*summary->blocked.items), compare_blocked);
	if (summary->sites.count)
		qsort_r(summary->sites.items, summary->sites.count, sizeof(*summary->sites.items),
			compare_sites, summary);
	sum_processes(summary);
	for (size_t i = 0; i < summary->sites.count; i++)
		summary->classes[summary->sites.items[i].class].sites +=
			!summary->sites.items[i].is_part;
	for (uint32_t i = 0; i < summary->class_count; i++) {
		struct summary_peak *peak = &summary->classes[i].peak;

		peak->time_ns =
			peak->time_ns > summary->start_ns ? peak->time_ns - summary->start_ns : 0;
	}
}

/* ---- what is shown ---- */

/* Of other classes each so many; of what exists and need not be destroyed, fewer. */
static size_t share_of(const struct summary *summary, uint32_t class)
{
	return ledger_rank(summary->classes[class].known) <= 9 ? 3 : 1;
}

/* Lines come class by class: from here to the first of another class. */
static size_t end_of_class(const uint32_t *classes, size_t count, size_t from)
{
	size_t to = from;

	while (to < count && classes[to] == classes[from])
		to++;
	return to;
}

size_t summary_share(const struct summary *summary, const uint32_t *classes, size_t all,
		     size_t room, uint32_t *chosen)
{
	size_t end = end_of_class(classes, all, 0);
	size_t reserved = 0, count = 0;

	for (size_t from = end, to; from < all; from = to) {
		size_t share = share_of(summary, classes[from]);

		to = end_of_class(classes, all, from);
		reserved += to - from < share ? to - from : share;
	}
	if (reserved > room / 2)
		reserved = room / 2;
	for (size_t from = 0, to; from < all && count < room; from = to) {
		/* Loaders and allocators map a lot: that alone is no news. */
		bool is_plenty = from || summary->classes[classes[from]].known == RESOURCE_MAPPING;
		size_t share = is_plenty ? share_of(summary, classes[from]) : room - reserved;

		to = end_of_class(classes, all, from);
		for (size_t i = from; i < to && share && count < room; i++, share--)
			chosen[count++] = (uint32_t)i;
	}
	return count;
}

size_t summary_top(const struct summary *summary, size_t room, uint32_t *chosen)
{
	size_t most = summary->sites.count, all = 0, count;
	cleanup_free uint32_t *classes = calloc(most + 1, sizeof(*classes));
	cleanup_free uint32_t *places = calloc(most + 1, sizeof(*places));

	if (!classes || !places)
		return 0;
	for (size_t i = 0; i < most; i++) {
		if (summary->sites.items[i].is_part)
			continue;
		places[all] = (uint32_t)i;
		classes[all++] = summary->sites.items[i].class;
	}
	count = summary_share(summary, classes, all, room, chosen);
	for (size_t i = 0; i < count; i++)
		chosen[i] = places[chosen[i]];
	return count;
}
