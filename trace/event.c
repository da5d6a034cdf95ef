/* SPDX-License-Identifier: MIT */
#include "trace/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/trace.h"

const char *event_argument(const struct event *event, const char *name)
{
	for (uint32_t i = 0; i < event->argument_count; i++)
		if (!strcmp(event->arguments[i].name, name))
			return event->arguments[i].value;
	return NULL;
}

const char *event_target(const struct event *event)
{
	const char *name = event_argument(event, "path") ?: event_argument(event, "name");

	/* the argument "address" is the address of a peer, or of a mapping: a number, not a name */
	name = name ?: event_argument(event, "address");
	return name && strncmp(name, "0x", 2) != 0 ? name : "";
}

const char *event_effect(const struct event *event)
{
	static const unsigned char effects[OPERATION_COUNT] = {
#define OPERATION(name, effect, ...) [OPERATION_##name] = EFFECT_##effect,
#include "operations.def"
#undef OPERATION
	};

	if (event->type == CALL_TYPE_ALLOC)
		return "acquired";
	if (event->type == CALL_TYPE_FREE)
		return "released";
	return event->operation < OPERATION_COUNT && effects[event->operation] != EFFECT_NEITHER
		       ? "failed"
		       : "used";
}

uint64_t event_number(const struct event *event, const char *name)
{
	const char *text = event_argument(event, name);

	return text ? strtoull(text, NULL, 0) : 0;
}

uint64_t event_end_ns(const struct event *event)
{
	const char *at = event_argument(event, "at");
	uint64_t seconds, ns;

	if (!at || sscanf(at, "%" SCNu64 ".%9" SCNu64, &seconds, &ns) != 2 ||
	    seconds > event->time_ns / 1000000000)
		return event->time_ns;
	return seconds * 1000000000 + ns;
}

void trace_labels(const struct event *event, char text[TRACE_LABELS_MAX])
{
	size_t used = 0;

	*text = 0;
	for (uint32_t i = 0; i < event->argument_count && used < TRACE_LABELS_MAX; i++)
		used += (size_t)snprintf(text + used, TRACE_LABELS_MAX - used, "%s%s=%s",
					 used ? "," : "", event->arguments[i].name,
					 event->arguments[i].value);
}

const char *trace_label(const char *labels, const char *name, size_t *length)
{
	size_t size = strlen(name);

	for (; labels && *labels; labels += strcspn(labels, ","), labels += *labels == ',')
		if (!strncmp(labels, name, size) && labels[size] == '=') {
			*length = strcspn(labels + size + 1, ",");
			return labels + size + 1;
		}
	return NULL;
}

struct wire_value *keep_arguments(const struct event *event)
{
	size_t count = event->argument_count, size = (count + 1) * sizeof(struct wire_value);
	struct wire_value *copy;
	char *text;

	for (size_t i = 0; i < count; i++)
		size += strlen(event->arguments[i].name) + strlen(event->arguments[i].value) + 2;
	copy = memory_alloc(size);
	if (!copy)
		return NULL;
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

void keep_event(const struct kept_call *kept, const struct trace_process *process,
		struct event *event)
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
