/* SPDX-License-Identifier: MIT */
/* --format=lines: a line for each call. An example of a format: CONTRIBUTING.md adds it. */
#include <string.h>

#include "base/out.h"
#include "formats/writers.h"

int write_lines_begin(void **state, const struct trace *trace, const struct writer_options *options,
		      struct error *err)
{
	(void)trace;
	(void)err;
	*state = options->out;
	return 0;
}

/* Names come from the trace and are not trusted: out_name() makes them safe to print. */
int write_lines_event(void *state, const struct event *event, struct error *err)
{
	struct out *out = state;
	const char *name = event->function->name;

	(void)err;
	if (event->kind != EVENT_CALL)
		return 0;
	out_unsigned(out, event->time_ns);
	out_char(out, ' ');
	out_name(out, name, strlen(name), ESCAPE_ALL);
	out_text(out, " 0x");
	out_hex(out, event->object);
	out_char(out, '\n');
	return 0;
}

int write_lines_end(void *state, struct error *err)
{
	(void)state;
	(void)err;
	return 0;
}

void write_lines_destroy(void *state)
{
	(void)state;
}
