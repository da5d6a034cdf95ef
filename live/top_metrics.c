/* SPDX-License-Identifier: MIT */
#include "live/top.h"

#include "account/estimate.h"

#include <string.h>

/* Writes the value of a label, escaped as in OpenMetrics 1.0, as ASCII. */
static void put_label(struct out *out, const char *name, const char *value)
{
	out_format(out, "%s=\"", name);
	for (const char *at = value; *at; at++) {
		if (*at == '\\' || *at == '"')
			out_char(out, '\\');
		if ((unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f)
			out_char(out, *at);
		else
			out_char(out, '?');
	}
	out_char(out, '"');
}

static void put_family(struct out *out, const char *name, const char *type, const char *help)
{
	out_format(out, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
}

static void put_single(struct out *out, const char *name, const char *type, const char *help,
		       uint64_t value)
{
	put_family(out, name, type, help);
	out_format(out, "%s%s %llu\n", name, strcmp(type, "counter") ? "" : "_total",
		   (unsigned long long)value);
}

static void put_class(struct out *out, const char *name, const struct sample_row *class,
		      uint64_t value)
{
	out_format(out, "%s{", name);
	put_label(out, "class", class->type);
	out_format(out, "} %llu\n", (unsigned long long)value);
}

/* This family exists only if memory is sampled. */
static void put_errors(struct out *out, const struct sample *sample)
{
	if (!sample->sample)
		return;
	put_single(out, "holdtrace_sample_bytes", "gauge",
		   "Memory is estimated: bytes from one sample to the next.", sample->sample);
	put_family(out, "holdtrace_live_bytes_error", "gauge",
		   "By how much live bytes may be wrong, in 95 of 100 cases.");
	for (size_t i = 0; i < sample->class_count; i++)
		if (estimate_error(sample->classes[i].variance))
			put_class(out, "holdtrace_live_bytes_error", &sample->classes[i],
				  estimate_error(sample->classes[i].variance));
}

static void put_classes(struct out *out, const struct sample *sample)
{
	put_family(out, "holdtrace_live_objects", "gauge", "Objects that are live.");
	for (size_t i = 0; i < sample->class_count; i++)
		put_class(out, "holdtrace_live_objects", &sample->classes[i],
			  (uint64_t)sample->classes[i].count);
	put_family(out, "holdtrace_live_bytes", "gauge", "Bytes that are live.");
	for (size_t i = 0; i < sample->class_count; i++)
		if (sample->classes[i].has_bytes)
			put_class(out, "holdtrace_live_bytes", &sample->classes[i],
				  (uint64_t)sample->classes[i].bytes);
	put_errors(out, sample);
	put_family(out, "holdtrace_acquired", "counter", "Calls that acquired an object.");
	for (size_t i = 0; i < sample->class_count; i++)
		put_class(out, "holdtrace_acquired_total", &sample->classes[i],
			  sample->classes[i].acquired);
}

static void put_sites(struct out *out, const struct sample *sample)
{
	put_family(out, "holdtrace_site_live_bytes", "gauge",
		   "Bytes that are live, by call site, the first ones alone.");
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
}

void top_put_metrics(struct out *out, const struct top_picture *picture)
{
	const struct sample *sample = &picture->sample;

	put_single(out, "holdtrace_processes", "gauge", "Traced processes that run.",
		   sample->running);
	put_single(out, "holdtrace_events", "counter", "Recorded events.", sample->events);
	put_single(out, "holdtrace_dropped_events", "counter", "Events that were dropped.",
		   sample->dropped);
	if (picture->has_waits) {
		put_single(out, "holdtrace_waiting_threads", "gauge",
			   "Threads that wait for a lock that is held.", picture->held_up);
		put_single(out, "holdtrace_deadlocks", "gauge",
			   "Rings of threads that wait for each other.", picture->rings);
	}
	put_classes(out, sample);
	put_sites(out, sample);
	out_text(out, "# EOF\n");
}
