/* SPDX-License-Identifier: MIT */
#include "dialects/swap/swap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"

#define THREADS_MAX 65536u

void load_init(struct load *load)
{
	memset(load, 0, sizeof(*load));
}

void load_free(struct load *load)
{
	free(load->cpus.items);
	free(load->threads.items);
	free(load->threads.before);
	ledger_destroy(load->ledger);
}

/* Returns the increase of a counter, or 0 if the counter was reset and so has decreased. */
static uint64_t difference(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/*
 * Returns the load in percent, for `ticks` of processor time within `ns` nanoseconds. hertz: ticks
 * per second.
 */
static float percent_of_time(uint64_t ticks, uint64_t hertz, uint64_t ns)
{
	return hertz && ns ? (float)(100e9 * (double)ticks / ((double)hertz * (double)ns)) : 0;
}

static void take_cpu(struct load *load, size_t number, const char *value)
{
	struct load_cpu now = { 0 };
	uint64_t khz = 0, total;

	while (load->cpus.count <= number)
		*ARRAY_ADD(&load->cpus) = now;
	if (sscanf(value, "%" SCNu64 " %" SCNu64 " %" SCNu64, &khz, &now.busy, &now.total) != 3)
		return;
	now.khz = (float)khz;
	total = difference(now.total, load->cpus.items[number].total);
	if (load->samples && total)
		now.percent = (float)(100.0 *
				      (double)difference(now.busy, load->cpus.items[number].busy) /
				      (double)total);
	load->cpus.items[number] = now;
}

static int compare_ids(const void *one, const void *two)
{
	uint32_t a = ((const struct load_thread *)one)->id,
		 b = ((const struct load_thread *)two)->id;

	return ORDER(a, b);
}

static void take_counters(struct load *load, enum load_counter first, int count, const char *value)
{
	for (int i = 0; i < count; i++) {
		char *end;
		uint64_t now = strtoull(value, &end, 10);
		uint64_t *counter = &load->counters[(int)first + i];

		load->differences[(int)first + i] = load->samples ? difference(now, *counter) : 0;
		*counter = now;
		value = end;
	}
}

static void take_value(struct load *load, const struct wire_value *pair, uint64_t hertz,
		       uint64_t ns)
{
	const char *name = pair->name;

	if (!strncmp(name, "cpu", 3) && name[3] >= '0' && name[3] <= '9') {
		unsigned long number = strtoul(name + 3, NULL, 10);

		if (number < LOAD_CPUS_MAX)
			take_cpu(load, number, pair->value);
		return;
	}
	if (!strcmp(name, "thread")) {
		struct load_thread thread = { 0 };

		if (load->threads.count < THREADS_MAX &&
		    sscanf(pair->value, "%" SCNu32 " %" SCNu64 " %c %" SCNu32, &thread.id,
			   &thread.ticks, &thread.state, &thread.cpu) == 4)
			*ARRAY_ADD(&load->threads) = thread;
		return;
	}
	if (!strcmp(name, "process")) {
		uint64_t ticks = 0;

		sscanf(pair->value, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		       &ticks, &load->virtual_bytes, &load->resident_bytes, &load->shared_bytes,
		       &load->pss_bytes);
		if (load->samples)
			load->percent = percent_of_time(difference(ticks, load->ticks), hertz, ns);
		load->ticks = ticks;
	} else if (!strcmp(name, "memory"))
		load->memory_bytes = strtoull(pair->value, NULL, 10);
	else if (!strcmp(name, "drive"))
		load->drive_mib = strtoull(pair->value, NULL, 10);
	else if (!strcmp(name, "disk"))
		take_counters(load, LOAD_READS, 4, pair->value);
	else if (!strcmp(name, "net"))
		take_counters(load, LOAD_SENT, 2, pair->value);
}

static uint64_t number_of(const struct event *event, const char *name, uint64_t otherwise)
{
	const char *text = event_argument(event, name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

void load_sample(struct load *load, const struct event *event)
{
	uint64_t hertz = number_of(event, "hertz", 0), at = number_of(event, "at", event->time_ns);
	uint64_t ns = load->samples ? difference(at, load->time_ns) : 0;
	struct load_thread *items = load->threads.before;
	size_t capacity = load->threads.before_capacity;

	load->threads.before = load->threads.items;
	load->threads.before_count = load->threads.count;
	load->threads.before_capacity = load->threads.capacity;
	load->threads.items = items;
	load->threads.capacity = capacity;
	load->threads.count = 0;
	for (uint32_t i = 0; i < event->argument_count; i++)
		take_value(load, &event->arguments[i], hertz, ns);
	ARRAY_SORT(&load->threads, compare_ids);
	for (size_t i = 0; load->threads.before_count && i < load->threads.count; i++) {
		struct load_thread *thread = &load->threads.items[i];
		const struct load_thread *before =
			bsearch(thread, load->threads.before, load->threads.before_count,
				sizeof(*thread), compare_ids);

		if (before)
			thread->percent = percent_of_time(difference(thread->ticks, before->ticks),
							  hertz, ns);
	}
	load->time_ns = at;
	load->samples++;
}

void load_event(struct load *load, const struct event *event)
{
	if (!load->samples || event->resource->known != RESOURCE_MEMORY)
		return;
	if (!load->ledger)
		load->ledger = ledger_create(false);
	ledger_event(load->ledger, event);
	load->held_bytes = ledger_sum(load->ledger, 0)->bytes;
}
