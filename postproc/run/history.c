/* SPDX-License-Identifier: MIT */
/*
 * The report on the life of one object: a row for each call that acquired it, used it, waited for
 * it or released it. If --object is an address inside a block, the object is the block, from its
 * allocation to its release.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "hook_table.h"
#include "postproc/report/report.h"

#define CALLS_MAX 10000u /* only the newest calls are stored */
/* a use is compared with at most this many earlier rows, to merge it with an equal use */
#define USES_MAX 64u

struct history_call {
	uint64_t time_ns, object, size, index;
	uint64_t times; /* number of equal calls since the object was last acquired or released */
	uint32_t pid, thread;
	/* these texts are constants or belong to the summary, so they outlive the trace */
	const char *function, *what, *class;
	const struct trace_node *backtrace;
};

struct history_state {
	struct report_run *run;
	bool is_fd;
	uint64_t wanted;
	uint64_t base; /* address of the block that now contains the wanted address */
	bool has_base;
	/* index of the first call after the object was last acquired or released */
	uint64_t life;
	struct history_call *calls; /* the newest calls, as a ring buffer */
	uint64_t count;
};

/* ---- which calls ---- */

static bool has_bytes(const struct event *event)
{
	return event->resource->known == RESOURCE_MEMORY ||
	       event->resource->known == RESOURCE_MAPPING;
}

/* Whether the event's object contains the wanted address. */
static bool covers(const struct history_state *state, const struct event *event)
{
	return event->object <= state->wanted && event->size &&
	       state->wanted - event->object < event->size;
}

static bool is_of_object(struct history_state *state, const struct event *event)
{
	/* --path selects the objects, so each event is about a wanted object */
	if (!state->run->options->object)
		return true;
	if (state->is_fd)
		return event->resource->known == RESOURCE_FD && event->object == state->wanted;
	if (event->resource->known == RESOURCE_FD)
		return false;
	if (has_bytes(event) && event->type == CALL_TYPE_ALLOC && covers(state, event)) {
		state->base = event->object;
		state->has_base = true;
		return true;
	}
	if (has_bytes(event) && event->type == CALL_TYPE_FREE && state->has_base &&
	    (event->size ? covers(state, event) : event->object == state->base)) {
		state->has_base = false;
		return true;
	}
	/* For an allocation, `related` is not an object but calloc()'s number of elements. */
	return event->object == state->wanted ||
	       (!has_bytes(event) && event->related == state->wanted);
}

/* Finds a call that equals `wanted` except for its time, after the last acquisition or release. */
static struct history_call *find_use(struct history_state *state, const struct history_call *wanted)
{
	for (uint64_t i = state->count; i-- > state->life && state->count - i <= USES_MAX;) {
		struct history_call *call = &state->calls[i % CALLS_MAX];

		if (!strcmp(call->what, wanted->what) && call->object == wanted->object &&
		    call->pid == wanted->pid && call->thread == wanted->thread &&
		    call->backtrace == wanted->backtrace &&
		    !strcmp(call->function, wanted->function))
			return call;
	}
	return NULL;
}

static void on_event(void *user, const struct event *event)
{
	struct history_state *state = user;
	struct pool *pool = &state->run->summary->pool;
	const struct resource_class *class = event->resource;
	struct history_call call, *same = NULL;

	if (!is_of_object(state, event))
		return;
	/*
	 * copy the names of functions and of classes that the program defined: they are freed with
	 * the trace
	 */
	call = (struct history_call){
		.times = 1,
		.time_ns = event->time_ns,
		.object = event->object,
		.size = has_bytes(event) ? event->size : 0,
		.pid = event->process->pid,
		.thread = event->thread,
		.function = pool_text(pool, event->function->name, event->function->length),
		.what = event_effect(event),
		.class = class->known ? resource_table[class->known].type
				      : pool_copy(pool, class->type),
	};
	if (event->backtrace)
		call.backtrace = report_caller(state->run, event);
	if (event->type == CALL_TYPE_NONE)
		same = find_use(state, &call);
	if (same) {
		same->times++;
		return;
	}
	state->calls[state->count++ % CALLS_MAX] = call;
	if (event->type != CALL_TYPE_NONE)
		state->life = state->count;
}

static void history_process(void *user)
{
	struct history_state *state = user;

	state->has_base = false;
}

/* ---- the table ---- */

static void history_put(struct history_state *state, struct table *table,
			const struct history_call *call)
{
	struct table_cell *row = table_add(table);

	table_number(CELL(row, history, time), report_time(state->run, call->time_ns));
	table_number(CELL(row, history, pid), call->pid);
	table_number(CELL(row, history, thread), call->thread);
	if (call->times > 1)
		table_number(CELL(row, history, times), call->times);
	table_count(CELL(row, history, size), call->size);
	table_backtrace(CELL(row, history, backtrace), call->backtrace);
	table_text(table, CELL(row, history, event), call->what);
	table_text(table, CELL(row, history, class), call->class);
	table_text(table, CELL(row, history, function), call->function);
	if (call->object == UINT64_MAX)
		return;
	if (state->is_fd || !strcmp(call->class, resource_table[RESOURCE_FD].type))
		table_format(table, CELL(row, history, object), "fd:%" PRIu64, call->object);
	else
		table_format(table, CELL(row, history, object), "0x%" PRIx64, call->object);
}

static void history_end(void *user, struct tables *tables)
{
	struct history_state *state = user;
	struct table *table = tables_begin(tables, TABLE_history);
	uint64_t first = state->count > CALLS_MAX ? state->count - CALLS_MAX : 0;

	for (uint64_t i = first; i < state->count; i++)
		history_put(state, table, &state->calls[i % CALLS_MAX]);
	if (!state->count)
		table->note = "no recorded call used this object";
	if (first)
		table->note = "only the last 10,000 calls are listed";
	if (!state->is_fd)
		report_note_samples(state->run, table, REPORT_SAMPLED_CALLS);
}

/* ---- the object ---- */

static int parse(struct history_state *state, const char *text, struct error *err)
{
	char *end;

	if (!text && state->run->options->has_paths)
		return 0;
	if (!text)
		return error_set(err, EINVAL,
				 "name the object by --object=ADDRESS or --object=fd:NUMBER, or "
				 "by --path=GLOB");
	if (!strncmp(text, "fd", 2) && text[2] && !text[2 + strspn(text + 2, "0123456789")])
		return error_set(
			err, EINVAL,
			"--object=%s: for descriptor %s write fd:%s; for an address write 0x%s",
			text, text + 2, text + 2, text);
	state->is_fd = !strncmp(text, "fd:", 3);
	state->wanted = strtoull(text + (state->is_fd ? 3 : 0), &end, state->is_fd ? 10 : 16);
	if (*end || end == text || end[-1] == ':')
		return error_set(err, EINVAL,
				 "--object=%s: expected an address (0x7f12...) or fd:NUMBER", text);
	return 0;
}

static void history_destroy(void *user)
{
	struct history_state *state = user;

	free(state->calls);
}

static int history_begin(void *user, struct report_run *run, struct error *err)
{
	struct history_state *state = user;

	state->calls = memory_zalloc(CALLS_MAX, sizeof(*state->calls));
	return parse(state, run->options->object, err);
}

const struct report report_history = {
	.state_size = sizeof(struct history_state),
	.begin = history_begin,
	.event = on_event,
	.process = history_process,
	.end = history_end,
	.destroy = history_destroy,
};
