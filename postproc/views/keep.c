/* SPDX-License-Identifier: MIT */
#include "postproc/views/keep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct wire_value *copy_arguments(const struct event *event)
{
	size_t count = event->argument_count, size = count * sizeof(struct wire_value);
	struct wire_value *copy;
	char *text;

	for (size_t i = 0; i < count; i++)
		size += strlen(event->arguments[i].name) + strlen(event->arguments[i].value) + 2;
	copy = malloc(size);
	if (!copy)
		return NULL;
	text = (char *)(copy + count);
	for (size_t i = 0; i < count; i++) {
		copy[i].name = text;
		text = stpcpy(text, event->arguments[i].name) + 1;
		copy[i].value = text;
		text = stpcpy(text, event->arguments[i].value) + 1;
	}
	return copy;
}

int keep_call(struct kept *kept, const struct event *event, bool with_arguments)
{
	kept->index = event->index;
	kept->object = event->object;
	kept->size = event->size;
	kept->function = event->function;
	kept->resource = event->resource;
	kept->backtrace = event->backtrace;
	kept->context = event->context;
	kept->time_ms = event->time_ms;
	kept->thread = event->thread;
	kept->type = event->type;
	kept->arguments = NULL;
	kept->argument_count = 0;
	if (!with_arguments || event->argument_count == 0)
		return 0;
	kept->arguments = copy_arguments(event);
	kept->argument_count = event->argument_count;
	return kept->arguments ? 0 : -ENOMEM;
}

void keep_release(struct kept *kept)
{
	free(kept->arguments);
	kept->arguments = NULL;
	kept->argument_count = 0;
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
	event->time_ns = kept->time_ms * 1000000ull;
	event->thread = kept->thread;
	event->type = kept->type;
}
