/* SPDX-License-Identifier: MIT */
#include "wakes_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Key spaces of the index: places by the class of their sites, pairs by their end. */
enum { OF_PLACE, OF_PAIR = 2 };

void wakes_report_begin(void *user, enum resource resource)
{
	struct wakes_report *state = user;

	wakes_init(&state->view, resource);
	map_init(&state->index);
}

void wakes_report_destroy(void *user)
{
	struct wakes_report *state = user;

	wakes_free(&state->view);
	map_clear(&state->index);
	pool_free(&state->pool);
	free(state->places.items);
	free(state->pairs.items);
}

void wakes_report_event(void *user, const struct event *event)
{
	struct wakes_report *state = user;

	wakes_event(&state->view, event);
}

/* ---- a process ends ---- */

/* Finds or adds the place of a site. Invalidates earlier pointers to places. */
static uint32_t place_of(struct wakes_report *state, uint32_t index)
{
	const struct site *site = sites_at(&state->view.sites, index);
	const struct trace_node *backtrace =
		space_backtrace(&state->run->summary->space, site->backtrace, site->index);
	uint32_t of = OF_PLACE + site->class;
	uint32_t number = map_get(&state->index, of, (uintptr_t)backtrace);
	struct wakes_place *place;

	if (number)
		return number;
	number = ARRAY_NUMBER(&state->places);
	map_set(&state->index, of, (uintptr_t)backtrace, number);
	place = &state->places.items[number];
	*place = (struct wakes_place){ .backtrace = backtrace,
				       .function = pool_text(&state->pool, site->function->name,
							     strlen(site->function->name)) };
	return place->function ? number : 0;
}

static void close_site(struct wakes_report *state, uint32_t index)
{
	const struct wakes_site *site = wakes_site(&state->view, index);
	uint32_t number = site->count ? place_of(state, index) : 0;
	struct wakes_place *place;

	if (!site->count)
		return;
	place = &state->places.items[number];
	place->wakes.count += site->count;
	place->wakes.woke += site->woke;
	place->wakes.vain += site->vain;
	place->wakes.never += site->never;
}

/* Returns the index of the pair. */
static uint32_t ends_of(struct wakes_report *state, uint32_t waiter, uint32_t waker, uint8_t end)
{
	uint64_t key = (uint64_t)waiter << 32 | waker;
	uint32_t number = map_get(&state->index, OF_PAIR + end, key);

	if (number)
		return number;
	number = ARRAY_NUMBER(&state->pairs);
	map_set(&state->index, OF_PAIR + end, key, number);
	state->pairs.items[number] =
		(struct wakes_ends){ .waiter = waiter, .waker = waker, .end = end };
	return number;
}

static void close_pair(struct wakes_report *state, const struct wakes_pair *pair)
{
	const struct wakes_wait *wait = &pair->longest;
	uint32_t waiter = place_of(state, wait->waiter);
	uint32_t waker = wait->waker ? place_of(state, wait->waker) : 0;
	uint32_t index = waker || !wait->waker ? ends_of(state, waiter, waker, wait->end) : 0;
	struct wakes_pair *sum;

	sum = &state->pairs.items[index].sum;
	if (!sum->count || wait->ns > sum->longest.ns)
		sum->longest = *wait;
	sum->count += pair->count;
	sum->ns += pair->ns;
}

void wakes_report_process(void *user)
{
	struct wakes_report *state = user;

	wakes_finish(&state->view, summary_current(state->run->summary)->end_ns);
	for (size_t i = 1; i < state->view.stats.count; i++)
		close_site(state, (uint32_t)i);
	for (size_t i = 1; i < state->view.pairs.count; i++)
		close_pair(state, &state->view.pairs.items[i]);
	wakes_clear(&state->view);
}

/* ---- tables ---- */

static void put_ends(const struct wakes_report *state, struct table *table,
		     const struct wakes_ends *ends)
{
	const struct wakes_pair *sum = &ends->sum;
	struct table_cell *row = table_add(table);

	_Static_assert(COLUMN_cond_waits_backtrace - FIRST_cond_waits ==
			       COLUMN_sem_waits_backtrace - FIRST_sem_waits,
		       "both sheets have the same columns");
	table_text(table, CELL(row, cond_waits, ended),
		   wakes_end_name(state->view.resource, ends->end));
	table_number(CELL(row, cond_waits, waits), sum->count);
	table_number(CELL(row, cond_waits, waited), sum->ns);
	table_number(CELL(row, cond_waits, average), sum->ns / sum->count);
	table_number(CELL(row, cond_waits, longest), sum->longest.ns);
	table_number(CELL(row, cond_waits, object), sum->longest.object);
	if (ends->waker)
		table_backtrace(CELL(row, cond_waits, waker_backtrace),
				state->places.items[ends->waker].backtrace);
	table_backtrace(CELL(row, cond_waits, backtrace),
			state->places.items[ends->waiter].backtrace);
}

void wakes_report_waits(const struct wakes_report *state, struct table *table)
{
	for (size_t i = 1; i < state->pairs.count; i++)
		put_ends(state, table, &state->pairs.items[i]);
}
