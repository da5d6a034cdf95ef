/* SPDX-License-Identifier: MIT */
#include "live/top.h"

#include "account/estimate.h"
#include "base/human.h"
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LINES_MAX     40
#define WAITS_SHOWN   5
#define NUMBERS_WIDTH 53u /* columns of the numbers in a row, before the call site */

static const char *const orders[SAMPLE_ORDERS] = { "live", "growth", "rate", "objects" };

/* ---- text ---- */

/* Writes a change as a size or a count with its sign: +1.2 KB, -3, 0. */
static const char *human_change(struct human *human, double amount, bool is_bytes)
{
	const char *sign = amount > 0 ? "+" : "-";
	struct human number;
	uint64_t size = (uint64_t)llround(fabs(amount));

	if (is_bytes)
		human_bytes(&number, size);
	else
		human_count(&number, size);
	snprintf(human->text, sizeof(human->text), "%s%.40s", size ? sign : "", number.text);
	return human->text;
}

/* Writes a size or a count, which may be negative. */
static const char *human_amount(struct human *human, int64_t number, bool is_bytes)
{
	if (number < 0)
		return human_change(human, (double)number, is_bytes);
	return is_bytes ? human_bytes(human, (uint64_t)number)
			: human_count(human, (uint64_t)number);
}

static void put_text_head(struct out *out, const struct top_picture *picture)
{
	const struct sample *sample = &picture->sample;
	struct human time, events, rate;

	out_text(out, "holdtrace top  ");
	if (sample_age_ns(sample))
		out_format(out, "%s of the run  ", human_time(&time, sample_age_ns(sample)));
	out_format(out, "%zu process%s (%zu ended)  %s events, %s/s",
		   sample->running + sample->ended,
		   sample->running + sample->ended == 1 ? "" : "es", sample->ended,
		   human_count(&events, sample->events),
		   human_count(&rate, (uint64_t)sample->event_rate));
	if (sample->dropped)
		out_format(out, ", %s DROPPED", human_count(&rate, sample->dropped));
	if (sample->damages)
		out_format(out, ", %llu DAMAGED", (unsigned long long)sample->damages);
	if (picture->left_out)
		out_format(out, ", %llu file%s LEFT OUT", (unsigned long long)picture->left_out,
			   picture->left_out == 1 ? "" : "s");
	out_text(out, picture->is_frozen ? "  FROZEN\n" : "\n");
}

static void put_text_classes(struct out *out, const struct sample *sample)
{
	struct human bytes, count, growth, rate, acquired, peak;

	out_format(out, "%-9s %10s %9s %9s %10s %12s %10s\n", "class", "live", "objects",
		   "growth/s", "acquired/s", "acquired", "peak");
	for (size_t i = 0; i < sample->class_count; i++) {
		const struct sample_row *class = &sample->classes[i];

		out_format(out, "%-9.9s %10s %9s %9s %10s %12s %10s\n", class->type,
			   class->has_bytes ? human_bytes(&bytes, (uint64_t) class->bytes) : "",
			   human_count(&count, (uint64_t) class->count),
			   human_change(&growth, class->growth_rate, class->has_bytes),
			   human_count(&rate, (uint64_t)llround(class->acquired_rate)),
			   human_count(&acquired, class->acquired),
			   class->has_bytes ? human_bytes(&peak, class->peak)
					    : human_count(&peak, class->peak));
	}
}

/*
 * Writes the error of the estimates in one line, because the columns have no space for the error of
 * each number.
 */
static void put_text_error(struct out *out, const struct sample *sample)
{
	struct human every, error;

	if (!sample->sample)
		return;
	out_format(out, "memory is estimated by samples, one in %s",
		   human_bytes(&every, sample->sample));
	for (size_t i = 0; i < sample->class_count; i++)
		if (estimate_error(sample->classes[i].variance))
			out_format(
				out, "; live +- %s",
				human_bytes(&error, estimate_error(sample->classes[i].variance)));
	out_char(out, '\n');
}

static void put_text_waits(struct out *out, const struct top_picture *picture)
{
	if (!picture->has_waits || !picture->held_up)
		return;
	out_format(out, "waiting for a lock that is held: %zu thread%s%s\n", picture->held_up,
		   picture->held_up == 1 ? "" : "s",
		   picture->rings      ? "  DEADLOCK (!)"
		   : picture->inferred ? "  DEADLOCK (?, inferred)"
				       : "");
	for (size_t i = 0; i < picture->wait_count && i < WAITS_SHOWN; i++)
		/*
		 * only the mark and the text, so that the holder of the lock fits into 80 columns
		 */
		out_format(out, "%s%s\n",
			   picture->waits[i].is_in_ring	   ? "! "
			   : picture->waits[i].is_inferred ? "? "
							   : "  ",
			   picture->waits[i].text);
}

static void put_text_row(struct out *out, const struct sample_row *row, size_t width)
{
	struct human held, count, growth, rate;

	out_format(out, "%-9.9s %10s %9s %9s %10s  ", row->type,
		   row->has_bytes ? human_amount(&held, row->bytes, true) : "",
		   human_amount(&count, row->count, false),
		   human_change(&growth, row->growth_rate, row->has_bytes),
		   human_count(&rate, (uint64_t)llround(row->acquired_rate)));
	if (width && NUMBERS_WIDTH + name_columns(row->site_text, strlen(row->site_text)) > width)
		out_text(out, "\n    ");
	out_name(out, row->site_text, strlen(row->site_text), ESCAPE_ALL);
	out_char(out, '\n');
}

void top_put_text(struct out *out, const struct top_picture *picture, size_t width, size_t *marked)
{
	const struct sample_options *options = picture->options;

	put_text_head(out, picture);
	put_text_classes(out, &picture->sample);
	put_text_error(out, &picture->sample);
	put_text_waits(out, picture);
	out_format(out, "\n%-9s %10s %9s %9s %10s  where (%s, by %s%s)\n", "class",
		   options->since_base ? "since base" : "live", "objects", "growth/s", "acquired/s",
		   options->class ? options->class : "all classes", orders[options->order],
		   options->since_base ? ", since the baseline" : "");
	for (size_t i = 0; i < picture->sample.row_count; i++) {
		struct naming_line lines[LINES_MAX];
		size_t count = 0;

		if (i == picture->selected && marked) {
			*marked = 0;
			for (size_t at = 0; at < out->used; at++)
				*marked += out->buffer[at] == '\n';
		}
		put_text_row(out, &picture->sample.rows[i], width);
		if (i == picture->selected && picture->shows_backtrace)
			count = sample_backtrace(&picture->sample.rows[i], lines, LINES_MAX);
		for (size_t k = 0; k < count; k++)
			out_format(out, "%*s%s\n", (int)NUMBERS_WIDTH, "", lines[k].text);
	}
}

/* ---- JSON ---- */

static void add_json_row(struct json *json, const struct sample_row *row)
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
		add_json_row(&json, &sample->classes[i]);
	json_end(&json);
	json_open(&json, "sites", '[');
	for (size_t i = 0; i < sample->row_count; i++)
		add_json_row(&json, &sample->rows[i]);
	json_end(&json);
	if (picture->has_waits) {
		json_add_unsigned(&json, "waiting_threads", picture->held_up);
		json_add_unsigned(&json, "deadlocks", picture->rings);
		json_add_unsigned(&json, "inferred_deadlock_threads", picture->inferred);
		json_open(&json, "waits", '[');
		for (size_t i = 0; i < picture->wait_count; i++) {
			const struct top_wait *wait = &picture->waits[i];

			json_begin(&json, '{');
			json_add_unsigned(&json, "pid", (uint64_t)wait->pid);
			json_add_bool(&json, "in_deadlock", wait->is_in_ring);
			json_add_bool(&json, "in_inferred_deadlock", wait->is_inferred);
			json_add_bool(&json, "holder_has_ended", wait->is_orphaned);
			json_add_text(&json, "text", wait->text);
			json_end(&json);
		}
		json_end(&json);
	}
	json_end(&json);
	json_finish(&json);
}

/* ---- OpenMetrics ---- */

/* Writes a label with its value in ASCII, escaped as in OpenMetrics 1.0. */
static void put_label(struct out *out, const char *name, const char *value)
{
	out_format(out, "%s=\"", name);
	for (const char *at = value; *at; at++) {
		bool is_printable = (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f;

		if (*at == '\\' || *at == '"')
			out_char(out, '\\');
		out_char(out, is_printable ? *at : '?');
	}
	out_char(out, '"');
}

static void put_family(struct out *out, const char *name, const char *type, const char *help)
{
	out_format(out, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
}

static void put_metric(struct out *out, const char *name, const char *type, const char *help,
		       uint64_t value)
{
	put_family(out, name, type, help);
	out_format(out, "%s%s %llu\n", name, strcmp(type, "counter") ? "" : "_total",
		   (unsigned long long)value);
}

static void put_class_metric(struct out *out, const char *name, const struct sample_row *class,
			     uint64_t value)
{
	out_format(out, "%s{", name);
	put_label(out, "class", class->type);
	out_format(out, "} %llu\n", (unsigned long long)value);
}

static void put_class_metrics(struct out *out, const struct sample *sample)
{
	const struct sample_row *end = sample->classes + sample->class_count, *class;

	put_family(out, "holdtrace_live_objects", "gauge", "Live objects.");
	for (class = sample->classes; class < end; class ++)
		put_class_metric(out, "holdtrace_live_objects", class, (uint64_t) class->count);
	put_family(out, "holdtrace_live_bytes", "gauge", "Bytes of live objects.");
	for (class = sample->classes; class < end; class ++)
		if (class->has_bytes)
			put_class_metric(out, "holdtrace_live_bytes", class,
					 (uint64_t) class->bytes);
	if (sample->sample) {
		put_metric(out, "holdtrace_sample_bytes", "gauge",
			   "Sampling interval of memory in bytes; live bytes are estimates.",
			   sample->sample);
		put_family(out, "holdtrace_live_bytes_error", "gauge",
			   "Error of the live bytes that is not exceeded in 95 of 100 cases.");
		for (class = sample->classes; class < end; class ++)
			if (estimate_error(class->variance))
				put_class_metric(out, "holdtrace_live_bytes_error", class,
						 estimate_error(class->variance));
	}
	put_family(out, "holdtrace_acquired", "counter", "Calls that acquired an object.");
	for (class = sample->classes; class < end; class ++)
		put_class_metric(out, "holdtrace_acquired_total", class, class->acquired);
}

void top_put_metrics(struct out *out, const struct top_picture *picture)
{
	const struct sample *sample = &picture->sample;

	put_metric(out, "holdtrace_processes", "gauge", "Running traced processes.",
		   sample->running);
	put_metric(out, "holdtrace_events", "counter", "Recorded events.", sample->events);
	put_metric(out, "holdtrace_dropped_events", "counter", "Dropped events.", sample->dropped);
	if (picture->has_waits) {
		put_metric(out, "holdtrace_waiting_threads", "gauge",
			   "Threads that wait for a lock that is held.", picture->held_up);
		put_metric(out, "holdtrace_deadlocks", "gauge",
			   "Cycles of threads that wait for each other.", picture->rings);
	}
	put_class_metrics(out, sample);
	put_family(out, "holdtrace_site_live_bytes", "gauge",
		   "Bytes of live objects, by call site, of the largest call sites.");
	for (size_t i = 0; i < sample->row_count; i++) {
		const struct sample_row *row = &sample->rows[i];

		if (!row->has_bytes)
			continue;
		out_text(out, "holdtrace_site_live_bytes{");
		put_label(out, "class", row->type);
		out_char(out, ',');
		put_label(out, "site", row->site_text);
		out_format(out, "} %lld\n", (long long)row->bytes);
	}
	out_text(out, "# EOF\n");
}
