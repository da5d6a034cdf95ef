/* SPDX-License-Identifier: MIT */
/*
 * The reports on conditions, semaphores, futexes and calls that block. They list call sites that
 * wait, call sites that signal, post and wake, and the signals and posts that had no waiter. Sums
 * are over all processes of the run, by call site.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/pool.h"
#include "hook_table.h"
#include "naming/waiters.h"
#include "postproc/report/report.h"
#include "waits/wakes.h"

/* Sums of a call site of waits or wakes, over all processes. */
struct wakes_place {
	const struct trace_node *backtrace;
	const char *function; /* name of the hooked function that was called */
	const struct hook *hook;
	struct wakes_site wakes;
};

struct wakes_ends {
	uint32_t waiter, waker; /* indices in `places`; waker 0: none, or unknown */
	uint8_t end;
	struct wakes_pair sum;
};

struct wakes_report {
	struct report_run *run;
	struct wakes view;
	struct pool pool; /* copies of names */
	/* key: backtrace, or pair of places; value: number of the place or pair */
	struct map index;
	ARRAY_OF(struct wakes_place) places; /* index 0 is unused */
	ARRAY_OF(struct wakes_ends) pairs;   /* index 0 is unused */
};

/*
 * The kinds of keys in the index: OF_PLACE plus the class of a site, OF_PAIR plus the end of a
 * wait.
 */
enum { OF_PLACE, OF_PAIR = 2 };

static const char *describe_call(void *user, const struct event *event)
{
	struct wakes_report *state = user;
	char text[DESCRIPTORS_TEXT_SIZE];

	descriptors_say_event(&state->run->summary->descriptors, event, text);
	return pool_copy(&state->pool, text);
}

static void wakes_report_destroy(void *user)
{
	struct wakes_report *state = user;

	wakes_free(&state->view);
	map_clear(&state->index);
	pool_free(&state->pool);
	free(state->places.items);
	free(state->pairs.items);
}

static void wakes_report_event(void *user, const struct event *event)
{
	struct wakes_report *state = user;

	wakes_event(&state->view, event);
}

/* ---- a process ends ---- */

/* Finds or adds the place (sums over all processes) of a site. Invalidates pointers to places. */
static uint32_t place_of(struct wakes_report *state, uint32_t index)
{
	const struct site *site = sites_at(&state->view.sites, index);
	const struct trace_node *backtrace = report_site(state->run, site);
	uint32_t of = OF_PLACE + site->class;
	uint32_t number = map_get(&state->index, of, (uintptr_t)backtrace);
	const char *name = site->function->name;

	if (number)
		return number;
	number = ARRAY_NUMBER(&state->places);
	map_set(&state->index, of, (uintptr_t)backtrace, number);
	state->places.items[number] =
		(struct wakes_place){ .backtrace = backtrace,
				      .function = pool_copy(&state->pool, name),
				      .hook = site->function->hook };
	return number;
}

/* Finds or adds a pair. Returns its index. */
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

static void add_sum(struct wakes_pair *sum, const struct wakes_pair *pair)
{
	if (!sum->count || pair->longest.ns > sum->longest.ns) {
		sum->longest = pair->longest;
		sum->what = pair->what;
	}
	sum->count += pair->count;
	sum->ns += pair->ns;
}

static void wakes_report_process(void *user)
{
	struct wakes_report *state = user;

	wakes_finish(&state->view, summary_current(state->run->summary)->end_ns);
	for (uint32_t i = 1; i < state->view.stats.count; i++) {
		const struct wakes_site *site = wakes_site(&state->view, i);
		struct wakes_site *sum;
		uint32_t number;

		if (!site->count && !site->waits)
			continue;
		number = place_of(state, i);
		sum = &state->places.items[number].wakes;
		sum->waits += site->waits;
		sum->quiet += site->quiet;
		sum->count += site->count;
		sum->woke += site->woke;
		sum->vain += site->vain;
		sum->never += site->never;
	}
	for (size_t i = 1; i < state->view.pairs.count; i++) {
		const struct wakes_pair *pair = &state->view.pairs.items[i];
		const struct wakes_wait *wait = &pair->longest;
		uint32_t waiter = place_of(state, wait->waiter);
		uint32_t waker = wait->waker ? place_of(state, wait->waker) : 0;
		uint32_t index = ends_of(state, waiter, waker, wait->end);

		add_sum(&state->pairs.items[index].sum, pair);
	}
	wakes_clear(&state->view);
}

/* ---- tables ---- */

/*
 * Adds a row with the kind of the object. The functions of the backtrace show the kind; if they are
 * unknown, uses the name of the class.
 */
static struct table_cell *add_row(const struct report_run *run, enum resource resource,
				  struct table *table, const struct trace_node *backtrace)
{
	struct table_cell *row = table_add(table);
	const char *kind = waiters_kind(run->naming, backtrace);

	_Static_assert(COLUMN_cond_waits_backtrace - FIRST_cond_waits ==
				       COLUMN_futex_waits_backtrace - FIRST_futex_waits &&
			       COLUMN_cond_waits_backtrace - FIRST_cond_waits ==
				       COLUMN_sem_waits_backtrace - FIRST_sem_waits,
		       "cond_waits, futex_waits and sem_waits must begin with the same columns");
	table_text(table, CELL(row, cond_waits, kind),
		   strcmp(kind, "futex") ? kind : resource_table[resource].type);
	return row;
}

static void put_ends(const struct wakes_report *state, struct table *table,
		     const struct wakes_ends *ends)
{
	const struct wakes_pair *sum = &ends->sum;
	struct table_cell *row = add_row(state->run, state->view.resource, table,
					 state->places.items[ends->waiter].backtrace);

	table_text(table, CELL(row, cond_waits, ended),
		   wakes_end_name(state->view.resource, ends->end));
	table_number(CELL(row, cond_waits, waits), sum->count);
	table_number(CELL(row, cond_waits, wait_time), sum->ns);
	table_average(CELL(row, cond_waits, average), sum->ns, sum->count);
	table_number(CELL(row, cond_waits, longest), sum->longest.ns);
	table_number(CELL(row, cond_waits, object), sum->longest.object);
	if (ends->waker)
		table_backtrace(CELL(row, cond_waits, waker_backtrace),
				state->places.items[ends->waker].backtrace);
	table_backtrace(CELL(row, cond_waits, backtrace),
			state->places.items[ends->waiter].backtrace);
}

static void put_waits(const struct wakes_report *state, struct table *table)
{
	for (size_t i = 1; i < state->pairs.count; i++)
		naming_expect(state->run->naming,
			      state->places.items[state->pairs.items[i].waiter].backtrace);
	for (size_t i = 1; i < state->pairs.count; i++)
		put_ends(state, table, &state->pairs.items[i]);
}

static void end_conds(void *user, struct tables *tables)
{
	const struct wakes_report *state = user;
	struct table *table = tables_begin(tables, TABLE_cond_waits);

	put_waits(state, table);
	table = tables_begin(tables, TABLE_signals);
	for (size_t i = 1; i < state->places.count; i++) {
		const struct wakes_place *place = &state->places.items[i];
		struct table_cell *row = place->wakes.count ? table_add(table) : NULL;

		if (!row)
			continue;
		table_text(table, CELL(row, signals, function), place->function);
		table_number(CELL(row, signals, count), place->wakes.count);
		table_number(CELL(row, signals, woke), place->wakes.woke);
		table_number(CELL(row, signals, without_waiter), place->wakes.vain);
		table_backtrace(CELL(row, signals, backtrace), place->backtrace);
	}
}

/*
 * Adds the waits for objects of a class that had not ended when their process ended. `view` does
 * not contain these waits.
 */
static void put_asleep(const struct report_run *run, enum resource resource, struct table *table)
{
	for (size_t i = 0; i < run->summary->blocked.count; i++) {
		const struct summary_blocked *blocked = &run->summary->blocked.items[i];
		struct table_cell *row;

		if (blocked->resource != resource)
			continue;
		row = add_row(run, resource, table, blocked->backtrace);
		table_text(table, CELL(row, sem_waits, ended),
			   wakes_end_name(resource, WAKES_ASLEEP));
		table_number(CELL(row, sem_waits, waits), blocked->threads);
		table_number(CELL(row, sem_waits, wait_time), blocked->waited_ns);
		table_number(CELL(row, sem_waits, longest), blocked->longest_ns);
		table_number(CELL(row, sem_waits, object), blocked->object);
		table_backtrace(CELL(row, sem_waits, backtrace), blocked->backtrace);
	}
}

static void end_sems(void *user, struct tables *tables)
{
	const struct wakes_report *state = user;
	struct table *table = tables_begin(tables, TABLE_sem_waits);

	put_asleep(state->run, RESOURCE_SEMAPHORE, table);
	put_waits(state, table);
	table = tables_begin(tables, TABLE_posts);
	for (size_t i = 1; i < state->places.count; i++) {
		const struct wakes_place *place = &state->places.items[i];
		struct table_cell *row = place->wakes.count ? table_add(table) : NULL;

		if (!row)
			continue;
		table_number(CELL(row, posts, count), place->wakes.count);
		table_number(CELL(row, posts, woke), place->wakes.woke);
		table_number(CELL(row, posts, without_waiter), place->wakes.vain);
		table_number(CELL(row, posts, unused), place->wakes.never);
		table_backtrace(CELL(row, posts, backtrace), place->backtrace);
	}
}

static void end_futexes(void *user, struct tables *tables)
{
	const struct wakes_report *state = user;
	struct table *table = tables_begin(tables, TABLE_futex_waits);

	put_asleep(state->run, RESOURCE_FUTEX, table);
	put_waits(state, table);
}

static void put_calls(const struct wakes_report *state, struct table *table, bool is_idle)
{
	for (size_t i = 1; i < state->pairs.count; i++) {
		const struct wakes_ends *ends = &state->pairs.items[i];
		const struct wakes_place *waiter = &state->places.items[ends->waiter];
		struct table_cell *row;

		if ((ends->end == WAKES_IDLE) != is_idle || !ends->sum.count)
			continue;
		row = table_add(table);
		table_text(table, CELL(row, call_waits, function), waiter->function);
		table_text(table, CELL(row, call_waits, ended),
			   wakes_end_name(RESOURCE_CALL, ends->end));
		table_number(CELL(row, call_waits, waits), ends->sum.count);
		table_number(CELL(row, call_waits, wait_time), ends->sum.ns);
		table_average(CELL(row, call_waits, average), ends->sum.ns, ends->sum.count);
		table_number(CELL(row, call_waits, longest), ends->sum.longest.ns);
		table_text(table, CELL(row, call_waits, object), ends->sum.what);
		if (ends->waker)
			table_backtrace(CELL(row, call_waits, waker_backtrace),
					state->places.items[ends->waker].backtrace);
		table_backtrace(CELL(row, call_waits, backtrace), waiter->backtrace);
	}
}

/* Adds the calls that had not returned when their process ended. */
static void put_open_calls(struct wakes_report *state, struct table *table)
{
	const struct summary *summary = state->run->summary;

	for (size_t i = 0; i < summary->blocked.count; i++) {
		const struct summary_blocked *blocked = &summary->blocked.items[i];
		uint32_t waiter = map_get(&state->index, OF_PLACE, (uintptr_t)blocked->backtrace);
		struct table_cell *row;

		if (blocked->resource != RESOURCE_CALL && blocked->resource != RESOURCE_FD &&
		    blocked->resource != RESOURCE_FILE && blocked->resource != RESOURCE_PROCESS)
			continue;
		if (blocked->is_idle && waiter) {
			const struct wakes_pair open = {
				.count = blocked->threads,
				.ns = blocked->waited_ns,
				.longest = { .ns = blocked->longest_ns },
				.what = blocked->what,
			};
			uint32_t idle = ends_of(state, waiter, 0, WAKES_IDLE);

			add_sum(&state->pairs.items[idle].sum, &open);
			continue;
		}
		row = table_add(table);
		table_text(table, CELL(row, call_waits, function), blocked->function);
		table_text(table, CELL(row, call_waits, ended),
			   wakes_end_name(RESOURCE_CALL, WAKES_ASLEEP));
		table_number(CELL(row, call_waits, waits), blocked->threads);
		table_number(CELL(row, call_waits, wait_time), blocked->waited_ns);
		table_number(CELL(row, call_waits, longest), blocked->longest_ns);
		table_text(table, CELL(row, call_waits, object), blocked->what);
		table_backtrace(CELL(row, call_waits, backtrace), blocked->backtrace);
	}
}

static void end_calls(void *user, struct tables *tables)
{
	struct wakes_report *state = user;
	struct table *table = tables_begin(tables, TABLE_call_waits);

	_Static_assert(COLUMN_call_waits_backtrace - FIRST_call_waits ==
			       COLUMN_idle_waits_backtrace - FIRST_idle_waits,
		       "call_waits and idle_waits must begin with the same columns");
	/* merge the idle waits of each event loop: waits that no thread of the process ended */
	for (size_t i = 1, count = state->pairs.count; i < count; i++) {
		const struct wakes_ends ends = state->pairs.items[i];
		const struct wakes_place *place = &state->places.items[ends.waiter];
		uint32_t idle;

		if (ends.end == WAKES_WOKEN || !wakes_is_loop(place->hook, &place->wakes))
			continue;
		idle = ends_of(state, ends.waiter, 0, WAKES_IDLE);
		add_sum(&state->pairs.items[idle].sum, &ends.sum);
		state->pairs.items[i].sum.count = 0;
	}
	put_open_calls(state, table);
	put_calls(state, table, false);
	put_calls(state, tables_begin(tables, TABLE_idle_waits), true);
}

/*
 * Defines the report on waits for objects of a class. Except for conditions, the report needs the
 * summary, which has the calls that had not returned at the end, and describes descriptors.
 */
#define REPORT_OF_WAKES(name, class)                                                   \
	static int begin_##name(void *user, struct report_run *run, struct error *err) \
	{                                                                              \
		struct wakes_report *state = user;                                     \
                                                                                       \
		(void)run;                                                             \
		(void)err;                                                             \
		wakes_init(&state->view, class);                                       \
		state->view.describe = describe_call;                                  \
		state->view.user = state;                                              \
		return 0;                                                              \
	}                                                                              \
	const struct report report_##name = {                                          \
		.wants_summary = class != RESOURCE_CONDITION,                          \
		.state_size = sizeof(struct wakes_report),                             \
		.begin = begin_##name,                                                 \
		.event = wakes_report_event,                                           \
		.process = wakes_report_process,                                       \
		.end = end_##name,                                                     \
		.destroy = wakes_report_destroy,                                       \
	}

REPORT_OF_WAKES(conds, RESOURCE_CONDITION);
REPORT_OF_WAKES(sems, RESOURCE_SEMAPHORE);
REPORT_OF_WAKES(futexes, RESOURCE_FUTEX);
REPORT_OF_WAKES(calls, RESOURCE_CALL);
