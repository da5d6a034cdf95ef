/* SPDX-License-Identifier: MIT */
#include "leaks.h"

#include <stdlib.h>

#include "account/ledger.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/order.h"

/*
 * A live object. There may be millions of them, so this struct has only the members that are needed
 * to sort objects and to find them in the ledger.
 */
struct result {
	uint64_t index, object, bytes;
	/* number and bytes of the blocks that this block represents, if memory was sampled */
	uint64_t all_count, all_bytes;
	double variance;
	const struct ledger_item *item;
	uint32_t process; /* index in leaks.processes */
};

struct leaks {
	bool with_arguments;
	ARRAY_OF(struct passed_stream) processes;
	struct map by_section; /* key: section of the process; value: index + 1 in `processes` */
	struct passed_stream current;
	uint64_t last_ns; /* time of the last event */
	uint64_t min_age_ns, until_ns;
	ARRAY_OF(struct result) results;
	ARRAY_OF(struct leaks_total) totals;
};

void leaks_create(struct leaks **leaks, bool with_arguments)
{
	*leaks = memory_zalloc(1, sizeof(**leaks));
	(*leaks)->with_arguments = with_arguments;
	(*leaks)->until_ns = UINT64_MAX;
}

void leaks_limit(struct leaks *leaks, uint64_t min_age_ns, uint64_t until_ns)
{
	leaks->min_age_ns = min_age_ns;
	leaks->until_ns = until_ns;
}

/*
 * Sets leaks->current to the process of the event, because a merged trace has events of several
 * processes in turn. Not inlined, because most events do not change the process.
 */
static __attribute__((noinline)) void find_process(struct leaks *leaks,
						   const struct trace_process *process)
{
	uint32_t index = map_get(&leaks->by_section, 0, process->section);

	if (!index) {
		struct passed_stream *stream = ARRAY_ADD(&leaks->processes);

		*stream = (struct passed_stream){ .process = process };
		stream->ledger = ledger_create(leaks->with_arguments);
		index = (uint32_t)leaks->processes.count;
		map_set(&leaks->by_section, 0, process->section, index);
	}
	leaks->current = leaks->processes.items[index - 1];
}

void leaks_event(struct leaks *leaks, const struct event *event)
{
	if (event->time_ns > leaks->last_ns)
		leaks->last_ns = event->time_ns;
	if (leaks->current.process != event->process)
		find_process(leaks, event->process);
	ledger_event(leaks->current.ledger, event);
}

static int by_index(const void *one, const void *two)
{
	const struct result *a = one, *b = two;

	/*
	 * Indices may be equal if there are several traces or if a text file is damaged. Then
	 * compare other members, so that the order does not depend on hashes.
	 */
	return ORDER(a->index, b->index)
	       ?: ORDER(a->process, b->process)
	       ?: ORDER(a->object, b->object)
	       ?: ORDER(a->item->site, b->item->site);
}

static const struct site *site_of(const struct leaks *leaks, const struct result *result)
{
	return sites_at(ledger_sites(leaks->processes.items[result->process].ledger),
			result->item->site);
}

static struct leaks_total *find_total(const struct leaks *leaks,
				      const struct resource_class *resource)
{
	for (size_t i = 0; i < leaks->totals.count; i++)
		if (leaks->totals.items[i].resource->ordinal == resource->ordinal)
			return &leaks->totals.items[i];
	return NULL;
}

static void add_to_total(struct leaks *leaks, const struct result *result)
{
	const struct resource_class *resource = site_of(leaks, result)->resource;
	struct leaks_total *total = find_total(leaks, resource);

	if (!total) {
		total = ARRAY_ADD(&leaks->totals);
		*total = (struct leaks_total){ .resource = resource };
	}
	total->count++;
	total->bytes += result->bytes;
	total->is_estimate |= result->variance > 0;
	total->all_count += result->all_count;
	total->all_bytes += result->all_bytes;
	total->variance += result->variance;
	total->error = estimate_error(total->variance);
}

static void add_result(struct leaks *leaks, uint32_t process, const struct ledger_held *held)
{
	uint64_t end = leaks->last_ns < leaks->until_ns ? leaks->last_ns : leaks->until_ns;
	uint64_t since = held->item->acquired_ns;

	if (leaks->min_age_ns && (since > end || end - since < leaks->min_age_ns))
		return;
	*ARRAY_ADD(&leaks->results) = (struct result){
		.index = held->item->index,
		.object = held->object,
		.bytes = held->size,
		.all_count = held->count,
		.all_bytes = held->bytes,
		.variance = held->variance,
		.item = held->item,
		.process = process,
	};
}

void leaks_finish(struct leaks *leaks)
{
	const struct passed_stream *processes = leaks->processes.items;
	size_t count = leaks->processes.count;
	struct ledger_held held;

	for (uint32_t i = 0; i < count; i++) {
		for (size_t at = 0; ledger_held(processes[i].ledger, &at, &held);)
			add_result(leaks, i, &held);
		for (size_t at = 0; ledger_passed(processes[i].ledger, &at, &held);)
			if (passed_to(processes, count, i, held.object) < count)
				add_result(leaks, i, &held);
	}
	ARRAY_SORT(&leaks->results, by_index);
	for (size_t i = 0; i < leaks->results.count; i++)
		add_to_total(leaks, &leaks->results.items[i]);
}

size_t leaks_count(const struct leaks *leaks)
{
	return leaks->results.count;
}

void leaks_at(const struct leaks *leaks, size_t i, struct kept_call *kept)
{
	const struct result *result = &leaks->results.items[i];
	const struct ledger_item *item = result->item;
	const struct site *site = site_of(leaks, result);

	*kept = (struct kept_call){
		.index = item->index,
		.object = result->object,
		.size = result->bytes,
		.time_ns = item->acquired_ns,
		.function = site->function,
		.resource = site->resource,
		.backtrace = site->backtrace,
		.arguments = leaks->with_arguments ? item->arguments : NULL,
		.context = item->context,
		.time_ms = item->time_ms,
		.thread =
			ledger_thread(leaks->processes.items[result->process].ledger, item->thread),
		.section = leaks->processes.items[result->process].process->section,
		.count = item->count,
		.type = CALL_TYPE_ALLOC,
	};

	while (kept->arguments && kept->arguments[kept->argument_count].name)
		kept->argument_count++;
}

const struct leaks_total *leaks_total(const struct leaks *leaks, size_t i)
{
	return i < leaks->totals.count ? &leaks->totals.items[i] : NULL;
}

struct leaks_total leaks_total_of(const struct leaks *leaks, const struct resource_class *resource)
{
	const struct leaks_total *total = find_total(leaks, resource);

	return total ? *total : (struct leaks_total){ .resource = resource };
}

void leaks_destroy(struct leaks *leaks)
{
	if (!leaks)
		return;
	for (size_t i = 0; i < leaks->processes.count; i++)
		ledger_destroy(leaks->processes.items[i].ledger);
	free(leaks->processes.items);
	map_clear(&leaks->by_section);
	free(leaks->results.items);
	free(leaks->totals.items);
	free(leaks);
}
