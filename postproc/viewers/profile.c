/* SPDX-License-Identifier: MIT */
#include "profile.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"

static bool is_sum(const void *item, const void *key)
{
	const struct wait_sum *sum = item;
	const struct lane_wait *wait = key;

	return sum->kind == wait->kind && sum->waiter == wait->waiter &&
	       sum->waker == wait->waker && !strcmp(sum->function, wait->function);
}

static void on_wait(void *user, const struct lane_wait *wait)
{
	struct wait_sums *sums = &((struct profile *)user)->waits;
	uint64_t hash = hash_two(sums->table.seed ^ wait->kind, (uintptr_t)wait->waiter,
				 (uintptr_t)wait->waker);
	struct wait_sum *sum = hash_table_find(&sums->table, hash, is_sum, wait);
	uint64_t ns = wait->until_ns > wait->since_ns ? wait->until_ns - wait->since_ns : 0;

	if (!sum) {
		sum = pool_zalloc(&sums->pool, sizeof(*sum));
		*ARRAY_ADD(&sums->list) = sum;
		sum->kind = wait->kind;
		sum->waiter = wait->waiter;
		sum->waker = wait->waker;
		sum->function = pool_copy(&sums->pool, wait->function);
		hash_table_add(&sums->table, hash, sum);
	}
	sum->count++;
	sum->ns += ns;
	if (ns > sum->longest_ns)
		sum->longest_ns = ns;
}

int profile_begin(void *user, struct report_run *run, struct error *err)
{
	struct profile *profile = user;
	struct lanes_listener listener = { .wait = on_wait, .user = profile };

	(void)err;
	costs_begin(&profile->costs, run);
	lanes_begin(&profile->lanes, run, &listener);
	hash_table_init(&profile->waits.table);
	stacks_init(&profile->stacks, run->naming);
	return 0;
}

void profile_event(void *state, const struct event *event)
{
	lanes_event(&((struct profile *)state)->lanes, event);
}

void profile_note(void *state, const struct event *event)
{
	lanes_note(&((struct profile *)state)->lanes, event);
}

void profile_process(void *state)
{
	struct profile *profile = state;

	lanes_process(&profile->lanes);
	lanes_clear(&profile->lanes);
	costs_process(&profile->costs);
}

void profile_destroy(void *state)
{
	struct profile *profile = state;

	lanes_free(&profile->lanes);
	hash_table_free(&profile->waits.table);
	free(profile->waits.list.items);
	pool_free(&profile->waits.pool);
	free(profile->columns.items);
	free(profile->values);
	stacks_free(&profile->stacks);
}

void profile_expect(const struct profile *profile)
{
	struct costs_place place;
	uint32_t at = 0;

	while (profile->run->naming && costs_next(&profile->costs, &at, &place))
		naming_expect(profile->run->naming, place.place->backtrace);
	for (size_t i = 0; profile->run->naming && i < profile->waits.list.count; i++) {
		naming_expect(profile->run->naming, profile->waits.list.items[i]->waiter);
		naming_expect(profile->run->naming, profile->waits.list.items[i]->waker);
	}
}

/*
 * Adds a column. prefix: "" for memory, otherwise the name of the class, which the traced program
 * may have chosen.
 */
static void add_column(struct profile *profile, const char *prefix, const char *name,
		       const char *unit, const char *title)
{
	struct profile_column *column = ARRAY_ADD(&profile->columns);

	column->unit = unit;
	snprintf(column->name, sizeof(column->name), "%.32s%s%s", prefix, *prefix ? "_" : "", name);
	snprintf(column->title, sizeof(column->title), "%.32s%s", prefix, title);
	for (char *at = column->name; *at; at++)
		if (!isalnum((unsigned char)*at))
			*at = '_';
	for (char *at = column->title; *at; at++)
		if (!isalnum((unsigned char)*at))
			*at = '_';
	column->title[0] = (char)toupper((unsigned char)column->title[0]);
}

/*
 * Adds the columns of a class other than memory, named as in the reports: fd_opened, fd_open,
 * mapping_live_bytes.
 */
static void add_class(struct profile *profile, const struct ledger_class *class)
{
	bool is_opened = class->known == RESOURCE_FD || class->known == RESOURCE_FILE ||
			 class->known == RESOURCE_DIRECTORY;
	bool is_thread = class->known == RESOURCE_THREAD;
	const struct {
		const char *name, *title;
	} costs[] = {
		{ is_opened   ? "opened"
		  : is_thread ? "created"
			      : "acquired",
		  "Acquired" },
		{ is_opened ? "open" : "live", "Live" },
		{ "peak", "Peak" },
	};

	for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++) {
		char name[32], title[32];

		add_column(profile, class->type, costs[i].name, "count", costs[i].title);
		snprintf(name, sizeof(name), "%s_bytes", costs[i].name);
		snprintf(title, sizeof(title), "%sBytes", costs[i].title);
		if (class->has_bytes)
			add_column(profile, class->type, name, "bytes", title);
	}
}

void profile_columns(struct profile *profile)
{
	struct costs_place place;
	uint32_t at = 0;

	/* these are the names that pprof itself uses */
	add_column(profile, "", "alloc_objects", "count", "AllocObjects");
	add_column(profile, "", "alloc_space", "bytes", "AllocBytes");
	add_column(profile, "", "inuse_objects", "count", "LiveObjects");
	add_column(profile, "", "inuse_space", "bytes", "LiveBytes");
	add_column(profile, "", "peak_objects", "count", "PeakObjects");
	add_column(profile, "", "peak_space", "bytes", "PeakBytes");
	add_column(profile, "", "contentions", "count", "Waits");
	add_column(profile, "", "delay", "nanoseconds", "WaitedNs");
	while (costs_next(&profile->costs, &at, &place)) {
		uint32_t *first = &profile->first[place.place->class];

		if (*first || place.class->known == RESOURCE_MEMORY)
			continue;
		*first = (uint32_t)profile->columns.count;
		add_class(profile, place.class);
	}
	profile->values = memory_zalloc(profile->columns.count, sizeof(*profile->values));
}

const uint64_t *profile_values(struct profile *profile, const struct costs_place *place)
{
	const struct peaks_amount amounts[] = { place->acquired, place->held, place->peak };
	uint64_t *value = profile->values + profile->first[place->place->class];

	memset(profile->values, 0, profile->columns.count * sizeof(*profile->values));
	for (size_t i = 0; i < sizeof(amounts) / sizeof(*amounts); i++) {
		*value++ = amounts[i].count;
		if (place->class->has_bytes)
			*value++ = amounts[i].bytes;
	}
	return profile->values;
}

const uint64_t *profile_wait_values(struct profile *profile, const struct wait_sum *wait)
{
	memset(profile->values, 0, profile->columns.count * sizeof(*profile->values));
	profile->values[COST_CONTENTIONS] = wait->count;
	profile->values[COST_DELAY] = wait->ns;
	return profile->values;
}
