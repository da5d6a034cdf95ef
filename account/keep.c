/* SPDX-License-Identifier: MIT */
#include "account/keep.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct wire_value *keep_arguments(const struct event *event)
{
	size_t count = event->argument_count, size = (count + 1) * sizeof(struct wire_value);
	struct wire_value *copy;
	char *text;

	for (size_t i = 0; i < count; i++)
		size += strlen(event->arguments[i].name) + strlen(event->arguments[i].value) + 2;
	copy = memory_alloc(size);
	copy[count] = (struct wire_value){ NULL, NULL };
	text = (char *)(copy + count + 1);
	for (size_t i = 0; i < count; i++) {
		copy[i].name = text;
		text = stpcpy(text, event->arguments[i].name) + 1;
		copy[i].value = text;
		text = stpcpy(text, event->arguments[i].value) + 1;
	}
	return copy;
}

void keep_event(const struct kept *kept, const struct trace_process *process, struct event *event)
{
	memset(event, 0, sizeof(*event));
	event->kind = kept->function->name[0] == WIRE_NOTE_PREFIX ? EVENT_NOTE : EVENT_CALL;
	event->process = process;
	event->index = kept->index;
	event->object = kept->object;
	event->size = kept->size;
	event->function = kept->function;
	event->resource = kept->resource;
	event->backtrace = kept->backtrace;
	event->arguments = kept->arguments;
	event->argument_count = kept->argument_count;
	event->context = kept->context;
	event->time_ms = kept->time_ms;
	event->time_ns = kept->time_ns;
	event->thread = kept->thread;
	event->type = (enum call_type)kept->type;
}
