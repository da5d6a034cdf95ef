/* SPDX-License-Identifier: MIT */
/*
 * The report on calls by function: how many calls there were, how many failed and why, how many
 * bytes they acquired, and how long they took. A call counts once even if it acquired or released
 * several objects. A call that cannot wait has only one time, so its duration is not known (see
 * --detail=durations).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "hook_table.h"
#include "postproc/report/report.h"

/*
 * number of different errors that are counted for each function; calls with other errors count only
 * as failures
 */
#define ERRORS_KEPT 8u

struct stat {
	const char *name, *class;
	uint64_t calls, failed, bytes;
	uint64_t timed, time_ns, longest_ns; /* timed: calls with a known duration */
	struct {
		uint32_t number;
		uint64_t count;
	} errors[ERRORS_KEPT];
};

/* Sums of the functions of one class. */
struct total {
	const char *class;
	uint64_t functions, calls, failed, bytes, timed, time_ns;
};

struct stats_state {
	struct report_run *run;
	struct pool pool;
	struct hash_table by_name;
	ARRAY_OF(struct stat *) stats;
	struct {
		/*
		 * indexed by the function's id in its trace; NULL: not looked up yet, or the
		 * function has no hook, and has a struct stat for each class
		 */
		struct stat **items;
		size_t count, capacity;
	} by_id;
	ARRAY_OF(struct total) totals;
};

/*
 * Returns the resource class of a call. The hook of the function has it, because a failed call has
 * no object. If the function has no hook, returns the class of the call's object.
 */
static const char *class_of(const struct event *event)
{
	if (event->function->hook)
		return resource_table[event->function->hook->resource].type;
	return *event->resource->type ? event->resource->type : "object";
}

/* ---- functions ---- */

struct key {
	const char *name, *class;
};

static bool is_stat(const void *item, const void *key)
{
	const struct stat *stat = item;
	const struct key *wanted = key;

	return !strcmp(stat->name, wanted->name) && !strcmp(stat->class, wanted->class);
}

static struct stat *find_stat(struct stats_state *state, const struct event *event)
{
	struct key key = { event->function->name, class_of(event) };
	uint64_t hash = hash_bytes(state->by_name.seed, key.name, strlen(key.name));
	struct stat *stat = hash_table_find(&state->by_name, hash, is_stat, &key);

	if (stat)
		return stat;
	stat = pool_zalloc(&state->pool, sizeof(*stat));
	*ARRAY_ADD(&state->stats) = stat;
	stat->name = pool_copy(&state->pool, key.name);
	stat->class = pool_copy(&state->pool, key.class);
	hash_table_add(&state->by_name, hash, stat);
	return stat;
}

/* ---- events ---- */

static void add_call(struct stat *stat, const struct event *event)
{
	const struct hook *hook = event->function->hook;
	/* free(NULL) is flagged as failed because it releases nothing, but it is not a failure */
	bool frees_memory =
		event->operation == OPERATION_FREE && hook && hook->resource == RESOURCE_MEMORY;

	stat->calls++;
	if (event->flags & CALL_FAILED && !frees_memory &&
	    (event->error || event->operation != OPERATION_FREE)) {
		size_t i = 0;

		stat->failed++;
		while (i < ERRORS_KEPT && stat->errors[i].count &&
		       stat->errors[i].number != event->error)
			i++;
		if (event->error && i < ERRORS_KEPT) {
			stat->errors[i].number = event->error;
			stat->errors[i].count++;
		}
	}
	if (event->leave_ns > event->enter_ns) {
		uint64_t duration_ns = event->leave_ns - event->enter_ns;

		stat->timed++;
		stat->time_ns += duration_ns;
		if (duration_ns > stat->longest_ns)
			stat->longest_ns = duration_ns;
	}
}

static void on_event(void *user, const struct event *event)
{
	struct stats_state *state = user;
	struct stat **cached = ARRAY_AT(&state->by_id, event->function->id);
	struct stat *stat = *cached ? *cached : find_stat(state, event);
	enum resource known = event->resource->known;

	if (event->function->hook)
		*cached = stat;
	/* a call may have several events (halves and parts), but counts once */
	if (!event->part && event->moment != MOMENT_HALF)
		add_call(stat, event);
	if (event_is_alloc(event) &&
	    (known == RESOURCE_MEMORY || known == RESOURCE_MAPPING || known == RESOURCE_SEGMENT))
		stat->bytes += event->size;
}

/* Forgets the ids of functions, which are valid only in one trace. */
static void functions_process(void *user)
{
	struct stats_state *state = user;

	state->by_id.count = 0;
}

/* ---- tables ---- */

static void functions_put(struct table *table, const struct stat *stat)
{
	struct table_cell *row = table_add(table);
	size_t most = 0; /* index of the error that occurred most often */

	table_group(table, CELL(row, functions, class), stat->class, 0);
	table_text(table, CELL(row, functions, function), stat->name);
	table_number(CELL(row, functions, calls), stat->calls);
	table_count(CELL(row, functions, bytes), stat->bytes);
	if (stat->timed) {
		table_number(CELL(row, functions, time), stat->time_ns);
		table_average(CELL(row, functions, average), stat->time_ns, stat->timed);
		table_number(CELL(row, functions, longest), stat->longest_ns);
	}
	if (!stat->failed)
		return;
	table_number(CELL(row, functions, failed), stat->failed);
	for (size_t i = 1; i < ERRORS_KEPT; i++)
		if (stat->errors[i].count > stat->errors[most].count)
			most = i;
	if (stat->errors[most].count)
		table_text(table, CELL(row, functions, errno),
			   strerrorname_np((int)stat->errors[most].number) ?: "unknown");
}

static void add_to_total(struct stats_state *state, const struct stat *stat)
{
	struct total *total = NULL;

	for (size_t i = 0; i < state->totals.count && !total; i++)
		if (!strcmp(state->totals.items[i].class, stat->class))
			total = &state->totals.items[i];
	if (!total) {
		total = ARRAY_ADD(&state->totals);
		*total = (struct total){ .class = stat->class };
	}
	total->functions++;
	total->calls += stat->calls;
	total->failed += stat->failed;
	total->bytes += stat->bytes;
	total->timed += stat->timed;
	total->time_ns += stat->time_ns;
}

static void functions_end(void *user, struct tables *tables)
{
	struct stats_state *state = user;
	struct table *totals = tables_begin(tables, TABLE_classes_called);
	struct table *functions = tables_begin(tables, TABLE_functions);

	for (size_t i = 0; i < state->stats.count; i++) {
		if (!state->stats.items[i]->calls)
			continue;
		add_to_total(state, state->stats.items[i]);
		functions_put(functions, state->stats.items[i]);
	}
	for (size_t i = 0; i < state->totals.count; i++) {
		const struct total *total = &state->totals.items[i];
		struct table_cell *row = table_add(totals);

		table_text(totals, CELL(row, classes_called, class), total->class);
		table_number(CELL(row, classes_called, functions), total->functions);
		table_number(CELL(row, classes_called, calls), total->calls);
		table_number(CELL(row, classes_called, failed), total->failed);
		table_count(CELL(row, classes_called, bytes), total->bytes);
		if (total->timed)
			table_number(CELL(row, classes_called, time), total->time_ns);
	}
	report_note_samples(state->run, totals, REPORT_SAMPLED_CALLS);
	report_note_samples(state->run, functions, REPORT_SAMPLED_CALLS);
}

static void functions_destroy(void *user)
{
	struct stats_state *state = user;

	hash_table_free(&state->by_name);
	free(state->stats.items);
	free(state->by_id.items);
	free(state->totals.items);
	pool_free(&state->pool);
}

static int functions_begin(void *user, struct report_run *run, struct error *err)
{
	struct stats_state *state = user;

	(void)err;
	(void)run;
	hash_table_init(&state->by_name);
	return 0;
}

const struct report report_functions = {
	.state_size = sizeof(struct stats_state),
	.begin = functions_begin,
	.event = on_event,
	.process = functions_process,
	.end = functions_end,
	.destroy = functions_destroy,
};
