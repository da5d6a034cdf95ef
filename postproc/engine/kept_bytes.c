/* SPDX-License-Identifier: MIT */
#include "kept_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct record {
	const struct function *function;
	const struct resource_class *resource;
	const struct backtrace *backtrace;
	uint64_t index, object, size, time_ns;
	uint32_t context, time_ms, thread, section;
	uint64_t texts; /* size of the arguments after the record: name, NUL, value, NUL ... */
	uint16_t argument_count;
	uint8_t type;
};

static size_t texts_size(const struct event *event)
{
	size_t size = 0;

	for (uint32_t i = 0; i < event->argument_count; i++)
		size += strlen(event->arguments[i].name) + strlen(event->arguments[i].value) + 2;
	return size;
}

size_t kept_size(const struct event *event, bool with_arguments)
{
	return sizeof(struct record) + (with_arguments ? texts_size(event) : 0);
}

void kept_put(unsigned char *bytes, const struct event *event, bool with_arguments)
{
	struct record record = { .function = event->function,
				 .resource = event->resource,
				 .backtrace = event->backtrace,
				 .index = event->index,
				 .object = event->object,
				 .size = event->size,
				 .time_ns = event->time_ns,
				 .context = event->context,
				 .time_ms = event->time_ms,
				 .thread = event->thread,
				 .section = event->process->section,
				 .type = (uint8_t)event->type };
	char *at = (char *)bytes + sizeof(record);

	if (with_arguments) {
		record.argument_count = (uint16_t)event->argument_count;
		record.texts = texts_size(event);
	}
	for (uint32_t i = 0; i < record.argument_count; i++) {
		at = stpcpy(at, event->arguments[i].name) + 1;
		at = stpcpy(at, event->arguments[i].value) + 1;
	}
	memcpy(bytes, &record, sizeof(record));
}

void kept_get(const unsigned char *bytes, struct kept *kept, size_t *size)
{
	const char *text = (const char *)bytes + sizeof(struct record);
	struct record record;

	memcpy(&record, bytes, sizeof(record));
	*kept = (struct kept){ .index = record.index,
			       .object = record.object,
			       .size = record.size,
			       .time_ns = record.time_ns,
			       .function = record.function,
			       .resource = record.resource,
			       .backtrace = record.backtrace,
			       .argument_count = record.argument_count,
			       .context = record.context,
			       .time_ms = record.time_ms,
			       .thread = record.thread,
			       .section = record.section,
			       .count = 1,
			       .type = record.type };
	*size = sizeof(record) + record.texts;
	if (!record.argument_count)
		return;
	kept->arguments = memory_zalloc(record.argument_count, sizeof(*kept->arguments));
	for (uint16_t i = 0; i < record.argument_count; i++) {
		kept->arguments[i].name = text;
		kept->arguments[i].value = text + strlen(text) + 1;
		text = kept->arguments[i].value + strlen(kept->arguments[i].value) + 1;
	}
}
