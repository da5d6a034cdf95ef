/* SPDX-License-Identifier: MIT */
/*
 * --format=jsonl: writes each event as a line of JSON. The first line describes the run, and the
 * lines after it describe all call sites, before the events. Each line has a "type";
 * man/events.schema.json describes the lines.
 *
 * Events arrive process by process and are sorted by time. The names of call sites are known only
 * at the end. So each sorted piece has the text of an event and the number of its call site.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/spill_sort.h"
#include "hook_table.h"
#include "viewers.h"

#define FRAMES_MAX 256

struct events {
	struct report_run *run;
	struct spill_sort sort;
	struct out text;    /* buffer for the text of an event */
	struct map numbers; /* key: address of a backtrace; value: its number, from 1 */
	ARRAY_OF(const struct trace_node *) sites; /* indexed by number - 1 */
	uint64_t too_long;			   /* number of events that were not written */
	/* latest time of the process so far: keeps the events of a process in their order */
	uint64_t last_ns;
};

/* ---- the fold ---- */

static void add_call(struct json *json, const struct event *event)
{
	const struct resource_class *class = event->resource;
	bool is_fd = class->known == RESOURCE_FD;
	char object[32];

	json_add_text(json, "effect", event_effect(event));
	json_add_text(json, "class",
		      class->known ? resource_table[class->known].type : class->type);
	snprintf(object, sizeof(object), is_fd ? "fd:%" PRIu64 : "0x%" PRIx64, event->object);
	if (event->object != UINT64_MAX && (event->object || is_fd))
		json_add_text(json, "object", object);
	if (event->size && (class->known == RESOURCE_MEMORY || class->known == RESOURCE_MAPPING))
		json_add_unsigned(json, "size_bytes", event->size);
	if (event->flags & CALL_FAILED)
		json_add_text(json, "errno", strerrorname_np((int)event->error) ?: "unknown");
	if (event->leave_ns > event->enter_ns)
		json_add_unsigned(json, "duration_ns", event->leave_ns - event->enter_ns);
	if (event->flags & CALL_OPEN)
		json_add_bool(json, "open", true);
}

/*
 * Writes an event without its call site and its time. If !has_arguments, writes null instead of the
 * arguments. Returns false if the text does not fit into the buffer.
 */
static bool put_text(struct out *out, const struct event *event, bool has_arguments)
{
	struct json json;

	out->used = 0;
	out->error = 0;
	json_start(&json, out, false);
	json_begin(&json, '{');
	json_add_text(&json, "type", event->kind == EVENT_NOTE ? "note" : "event");
	json_add_unsigned(&json, "pid", event->process->pid);
	json_add_unsigned(&json, "thread", event->thread);
	json_add_text(&json, "function", event->function->name);
	if (event->kind == EVENT_CALL)
		add_call(&json, event);
	if (!has_arguments) {
		json_key(&json, "arguments");
		json_null(&json);
	} else if (event->argument_count) {
		json_open(&json, "arguments", '{');
		for (uint32_t i = 0; i < event->argument_count; i++)
			json_add_text(&json, event->arguments[i].name, event->arguments[i].value);
		json_end(&json);
	}
	return !out_error(out);
}

static void on_event(void *user, const struct event *event)
{
	struct events *events = user;
	uint32_t site = 0;
	char *piece;

	if (!put_text(&events->text, event, true) && !put_text(&events->text, event, false)) {
		events->too_long++;
		return;
	}
	if (event->backtrace && event->backtrace->count) {
		const struct trace_node *backtrace = report_caller(events->run, event);
		struct map_entry *entry = map_put(&events->numbers, 0, (uintptr_t)backtrace);

		if (!entry->value) {
			*ARRAY_ADD(&events->sites) = backtrace;
			entry->value = (uint32_t)events->sites.count;
		}
		site = entry->value;
	}
	if (event->time_ns > events->last_ns)
		events->last_ns = event->time_ns;
	piece = spill_sort_reserve(&events->sort, sizeof(site) + events->text.used);
	memcpy(piece, &site, sizeof(site));
	memcpy(piece + sizeof(site), events->text.buffer, events->text.used);
	spill_sort_commit(&events->sort, (struct spill_key){ .first = events->last_ns },
			  sizeof(site) + events->text.used);
}

static void events_process(void *user)
{
	struct events *events = user;

	events->last_ns = 0;
}

static int events_begin(void *user, struct report_run *run, struct error *err)
{
	struct events *events = user;

	(void)run;
	(void)err;
	spill_sort_init(&events->sort, SPILL_TMPDIR, 0);
	out_open(&events->text, -1);
	return 0;
}

static void events_destroy(void *user)
{
	struct events *events = user;

	spill_sort_free(&events->sort);
	map_clear(&events->numbers);
	free(events->sites.items);
	free(events->text.buffer);
}

/* ---- the lines ---- */

static void put_site(const struct events *events, uint32_t number, struct out *out)
{
	struct naming_symbol frames[FRAMES_MAX];
	size_t count = naming_symbols(events->run->naming, events->sites.items[number - 1], frames,
				      FRAMES_MAX);
	struct json json;

	json_start(&json, out, false);
	json_begin(&json, '{');
	json_add_text(&json, "type", "site");
	json_add_unsigned(&json, "site", number);
	json_open(&json, "backtrace", '[');
	for (size_t i = 0; i < count; i++)
		report_add_frame(&json, &frames[i]);
	json_end(&json);
	json_end(&json);
	json_finish(&json);
}

static int events_print(void *user, struct out *out, struct error *err)
{
	struct events *events = user;
	struct spill_piece piece;
	struct json json;
	uint32_t site;
	int rc = spill_sort_finish(&events->sort, err);

	json_start(&json, out, false);
	json_begin(&json, '{');
	json_add_text(&json, "type", "run");
	json_add_unsigned(&json, "schema", REPORT_SCHEMA);
	report_add_run(&json, events->run);
	json_end(&json);
	json_finish(&json);
	for (size_t i = 0; events->run->naming && i < events->sites.count; i++)
		naming_expect(events->run->naming, events->sites.items[i]);
	for (size_t i = 0; events->run->naming && i < events->sites.count; i++)
		put_site(events, (uint32_t)i + 1, out);
	while (rc >= 0 && (rc = spill_sort_next(&events->sort, &piece, err)) == 1) {
		memcpy(&site, piece.bytes, sizeof(site));
		out_bytes(out, piece.bytes + sizeof(site), piece.size - sizeof(site));
		if (site)
			out_format(out, ",\"site\":%" PRIu32, site);
		out_format(out, ",\"time_ns\":%" PRIu64 "}\n",
			   report_time(events->run, piece.key.first));
	}
	if (rc >= 0 && events->too_long)
		return error_set(err, EOVERFLOW,
				 "%" PRIu64 " events are longer than %u bytes and were not written",
				 events->too_long, OUT_SIZE);
	return rc;
}

const struct report viewer_events = {
	.state_size = sizeof(struct events),
	.begin = events_begin,
	.event = on_event,
	.note = on_event,
	.process = events_process,
	.print = events_print,
	.destroy = events_destroy,
};
