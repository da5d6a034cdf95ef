/* SPDX-License-Identifier: MIT */
/*
 * The report on failed calls, grouped by path or peer, error and call site, and on file names that
 * a program looked for in several directories. It lacks calls that libc makes internally.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "postproc/report/report.h"

/*
 * Failed calls with the same error, function, path and call site; or, if `error` is 0, a file name
 * that calls looked for.
 */
struct failure {
	const char *path, *function; /* for a file name: the name without its directory, and "" */
	const struct trace_node *backtrace;
	uint32_t error;
	/*
	 * for calls: their number; for a file name: how many calls did not find the file since the
	 * last call that found it
	 */
	uint64_t count;
	/*
	 * for a file name: the largest `count`, the path at which the file was found after these
	 * calls (NULL: not found), and the call site of the last call that did not find the file
	 */
	uint64_t most;
	const char *found;
	const struct trace_node *last;
};

struct failures_state {
	struct report_run *run;
	struct hash_table table;
	ARRAY_OF(struct failure *) list;
};

static bool is_equal(const void *item, const void *wanted)
{
	const struct failure *a = item, *b = wanted;

	return a->error == b->error && a->backtrace == b->backtrace && !strcmp(a->path, b->path) &&
	       !strcmp(a->function, b->function);
}

static struct failure *find(struct failures_state *state, const struct failure *wanted)
{
	struct pool *pool = &state->run->summary->pool;
	uint64_t seed = hash_bytes(state->table.seed, wanted->path, strlen(wanted->path));
	uint64_t hash = hash_two(seed, wanted->error, (uintptr_t)wanted->backtrace);
	struct failure *found = hash_table_find(&state->table, hash, is_equal, wanted);

	if (found)
		return found;
	found = pool_alloc(pool, sizeof(*found));
	*found = *wanted;
	found->path = pool_copy(pool, wanted->path);
	found->function = pool_copy(pool, wanted->function);
	hash_table_add(&state->table, hash, found);
	return *ARRAY_ADD(&state->list) = found;
}

static struct failure *find_name(struct failures_state *state, const char *path)
{
	const char *slash = strrchr(path, '/');

	return find(state, &(struct failure){ .path = slash ? slash + 1 : path, .function = "" });
}

static void end_search(struct failure *name, const char *found)
{
	if (!name->error && name->count > name->most) {
		name->most = name->count;
		name->found = found;
	}
	name->count *= name->error != 0;
}

static void on_event(void *user, const struct event *event)
{
	struct failures_state *state = user;
	const char *path = event_argument(event, "path");
	struct failure call = { .path = event_target(event),
				.function = event->function->name,
				.error = event->error },
		       *name;
	unsigned may_fail = 1u << OPERATION_ALLOC | 1u << OPERATION_BEGIN | 1u << OPERATION_END |
			    1u << OPERATION_USE;
	bool has_failed = event->flags & CALL_FAILED && event->error &&
			  may_fail >> event->operation & 1 && !event->part &&
			  event->moment != MOMENT_HALF && event->resource->known != RESOURCE_CALL;

	if (!has_failed) {
		name = path && state->list.count && !(event->flags & CALL_FAILED)
			       ? find_name(state, path)
			       : NULL;
		if (name && name->count)
			end_search(name, pool_copy(&state->run->summary->pool, path));
		return;
	}
	if (event->backtrace)
		call.backtrace = report_caller(state->run, event);
	find(state, &call)->count++;
	if (!path || (event->error != ENOENT && event->error != ENOTDIR))
		return;
	name = find_name(state, path);
	name->last = call.backtrace;
	name->count++;
}

static void failures_process(void *user)
{
	struct failures_state *state = user;

	for (size_t i = 0; i < state->list.count; i++)
		end_search(state->list.items[i], NULL);
}

static void failures_end(void *user, struct tables *tables)
{
	struct failures_state *state = user;
	struct table *failures = tables_begin(tables, TABLE_failures);
	struct table *searches = tables_begin(tables, TABLE_searches);

	for (size_t i = 0; i < state->list.count; i++) {
		const struct failure *item = state->list.items[i];
		struct table_cell *row;

		if (!item->error && !item->most)
			continue;
		row = table_add(item->error ? failures : searches);
		if (item->error) {
			table_group(failures, CELL(row, failures, errno),
				    strerrorname_np((int)item->error) ?: "unknown", item->error);
			table_number(CELL(row, failures, count), item->count);
			table_text(failures, CELL(row, failures, function), item->function);
			table_text(failures, CELL(row, failures, path), item->path);
			table_backtrace(CELL(row, failures, backtrace), item->backtrace);
			continue;
		}
		table_number(CELL(row, searches, asked), item->most);
		table_text(searches, CELL(row, searches, name), item->path);
		table_text(searches, CELL(row, searches, found), item->found);
		table_backtrace(CELL(row, searches, backtrace), item->last);
	}
	report_note_samples(state->run, failures, REPORT_SAMPLED_CALLS);
}

static void failures_destroy(void *user)
{
	struct failures_state *state = user;

	hash_table_free(&state->table);
	free(state->list.items);
}

static int failures_begin(void *user, struct report_run *run, struct error *err)
{
	struct failures_state *state = user;

	(void)err;
	(void)run;
	hash_table_init(&state->table);
	return 0;
}

const struct report report_failures = {
	.state_size = sizeof(struct failures_state),
	.begin = failures_begin,
	.event = on_event,
	.process = failures_process,
	.end = failures_end,
	.destroy = failures_destroy,
};
