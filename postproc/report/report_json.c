/* SPDX-License-Identifier: MIT */
#include "report_json.h"

void report_add_run(struct json *json, const struct report_run *run)
{
	const struct summary *summary = run->summary;
	struct report_gaps gaps;

	report_find_gaps(run, KIND_ALL, 0, &gaps);
	json_add_unsigned(json, "processes", summary->processes.count);
	json_add_unsigned(json, "events", summary->events);
	json_key(json, "dropped");
	/* if traces or their ends are missing, the number of dropped events is unknown */
	if (summary->lost || !(gaps.incomplete || gaps.damaged || gaps.unread))
		json_unsigned(json, summary->lost);
	else
		json_null(json);
	if (summary->sample)
		json_add_unsigned(json, "sample_bytes", summary->sample);
	json_add_unsigned(json, "incomplete", gaps.incomplete);
	json_add_unsigned(json, "damaged", gaps.damaged);
	if (gaps.unread)
		json_add_unsigned(json, "not_read", gaps.unread);
	if (gaps.cut || gaps.gone) {
		json_add_unsigned(json, "truncated", gaps.cut);
		json_add_unsigned(json, "ended_untraced", gaps.gone);
	}
	json_add_unsigned(json, "duration_ns",
			  summary->end_ns > summary->start_ns ? summary->end_ns - summary->start_ns
							      : 0);
}

static void add_optional(struct json *json, const char *key, const char *text)
{
	if (text)
		json_add_text(json, key, text);
}

void report_add_frame(struct json *json, const struct naming_symbol *frame)
{
	json_begin(json, '{');
	json_add_hex(json, "address", frame->offset);
	add_optional(json, "function", frame->function);
	add_optional(json, "file", frame->file);
	if (frame->line)
		json_add_unsigned(json, "line", frame->line);
	add_optional(json, "module", frame->module);
	if (frame->is_inlined)
		json_add_bool(json, "inlined", true);
	json_end(json);
}
