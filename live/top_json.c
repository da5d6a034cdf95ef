/* SPDX-License-Identifier: MIT */
#include "live/top.h"

#include "account/estimate.h"
#include "base/json.h"

static void add_row(struct json *json, const struct sample_row *row)
{
	uint64_t error = estimate_error(row->variance);

	json_begin(json, '{');
	json_add_text(json, "class", row->type);
	json_add_signed(json, "objects", row->count);
	if (row->has_bytes)
		json_add_signed(json, "bytes", row->bytes);
	if (error)
		json_add_unsigned(json, "bytes_error", error);
	json_add_unsigned(json, "acquired", row->acquired);
	json_add_real(json, "acquired_per_s", row->acquired_rate);
	json_add_real(json, "growth_per_s", row->growth_rate);
	if (*row->site_text)
		json_add_text(json, "site", row->site_text);
	else
		json_add_unsigned(json, "peak", row->peak);
	json_end(json);
}

static void add_wait(struct json *json, const struct top_wait *wait)
{
	json_begin(json, '{');
	json_add_unsigned(json, "pid", (uint64_t)wait->pid);
	json_add_bool(json, "in_deadlock", wait->is_in_ring);
	json_add_bool(json, "holder_has_ended", wait->is_orphaned);
	json_add_text(json, "text", wait->text);
	json_end(json);
}

void top_put_json(struct out *out, const struct top_picture *picture)
{
	const struct sample *sample = &picture->sample;
	struct json json;

	json_start(&json, out, false);
	json_begin(&json, '{');
	json_add_real(&json, "duration_s", (double)sample_age_ns(sample) / 1e9);
	json_add_unsigned(&json, "events", sample->events);
	json_add_real(&json, "events_per_s", sample->event_rate);
	json_add_unsigned(&json, "dropped", sample->dropped);
	if (sample->sample)
		json_add_unsigned(&json, "sample_bytes", sample->sample);
	json_add_unsigned(&json, "damages", sample->damages);
	json_add_unsigned(&json, "files_left_out", picture->left_out);
	json_add_unsigned(&json, "running", sample->running);
	json_add_unsigned(&json, "ended", sample->ended);
	json_open(&json, "classes", '[');
	for (size_t i = 0; i < sample->class_count; i++)
		add_row(&json, &sample->classes[i]);
	json_end(&json);
	json_open(&json, "sites", '[');
	for (size_t i = 0; i < sample->row_count; i++)
		add_row(&json, &sample->rows[i]);
	json_end(&json);
	if (picture->has_waits) {
		json_add_unsigned(&json, "waiting_threads", picture->held_up);
		json_add_unsigned(&json, "deadlocks", picture->rings);
		json_open(&json, "waits", '[');
		for (size_t i = 0; i < picture->wait_count; i++)
			add_wait(&json, &picture->waits[i]);
		json_end(&json);
	}
	json_end(&json);
	json_finish(&json);
}
