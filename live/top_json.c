/* SPDX-License-Identifier: MIT */
#include "live/top.h"

#include "base/json.h"

static void add_number(struct json *json, const char *key, uint64_t number)
{
	json_key(json, key);
	json_unsigned(json, number);
}

static void add_signed(struct json *json, const char *key, int64_t number)
{
	json_key(json, key);
	json_signed(json, number);
}

static void add_real(struct json *json, const char *key, double number)
{
	json_key(json, key);
	json_real(json, number);
}

static void add_text(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_text(json, text);
}

static void add_class(struct json *json, const struct glance_class *class)
{
	json_begin(json, '{');
	add_text(json, "class", class->type);
	add_number(json, "objects", class->count);
	if (class->has_bytes)
		add_number(json, "bytes", class->bytes);
	add_number(json, "gained", class->gained);
	add_number(json, "peak", class->peak);
	add_real(json, "gained_per_s", class->gained_rate);
	add_real(json, "growth_per_s", class->growth_rate);
	json_end(json);
}

static void add_row(struct json *json, const struct glance_row *row)
{
	json_begin(json, '{');
	add_text(json, "class", row->type);
	add_signed(json, "objects", row->count);
	if (row->has_bytes)
		add_signed(json, "bytes", row->bytes);
	add_number(json, "gained", row->gained);
	add_real(json, "gained_per_s", row->gained_rate);
	add_real(json, "growth_per_s", row->growth_rate);
	add_text(json, "place", row->place);
	json_end(json);
}

static void add_wait(struct json *json, const struct top_wait *wait)
{
	json_begin(json, '{');
	add_number(json, "pid", (uint64_t)wait->pid);
	json_key(json, "in_deadlock");
	json_bool(json, wait->is_in_ring);
	json_key(json, "owner_has_ended");
	json_bool(json, wait->is_orphaned);
	add_text(json, "text", wait->text);
	json_end(json);
}

void top_put_json(struct out *out, const struct top_picture *picture)
{
	const struct glance *glance = &picture->glance;
	struct json json;

	json_start(&json, out, false);
	json_begin(&json, '{');
	add_real(&json, "seconds", picture->seconds);
	add_number(&json, "events", glance->events);
	add_real(&json, "events_per_s", glance->event_rate);
	add_number(&json, "lost", glance->lost);
	add_number(&json, "damages", glance->damages);
	add_number(&json, "running", glance->running);
	add_number(&json, "ended", glance->ended);
	json_key(&json, "classes");
	json_begin(&json, '[');
	for (size_t i = 0; i < glance->class_count; i++)
		add_class(&json, &glance->classes[i]);
	json_end(&json);
	json_key(&json, "places");
	json_begin(&json, '[');
	for (size_t i = 0; i < glance->row_count; i++)
		add_row(&json, &glance->rows[i]);
	json_end(&json);
	if (picture->has_waits) {
		add_number(&json, "held_up", picture->held_up);
		add_number(&json, "deadlocks", picture->rings);
		json_key(&json, "waits");
		json_begin(&json, '[');
		for (size_t i = 0; i < picture->wait_count; i++)
			add_wait(&json, &picture->waits[i]);
		json_end(&json);
	}
	json_end(&json);
	json_finish(&json);
}
