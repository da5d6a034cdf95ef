/* SPDX-License-Identifier: MIT */
/*
 * Makes events from sp-rtrace text. In compressed reports, consecutive calls without an empty line
 * between them share the backtrace that follows the last of them. So the reader puts calls into a
 * queue until that backtrace has ended.
 */
#include "trace/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "trace/decode.h"
#include "trace/text.h"

#define LINE_MAX_BYTES (1u << 20)

struct reader {
	ARRAY_OF(struct event) queue;
	size_t last_call; /* index of the last call in the queue */
	size_t sent;	  /* number of events of the queue that were returned */
	bool is_ready;	  /* the queue is complete */
	bool has_calls;	  /* the queue contains calls whose backtrace has not ended */
	ARRAY_OF(uint64_t) frames;
	ARRAY_OF(const char *) texts;
	bool has_texts;
	ARRAY_OF(struct wire_value) arguments; /* arguments of the last call in the queue */
	uint64_t index;			       /* index of the last call */
	ARRAY_OF(const struct resource_class *) classes;
	/* the stream has begun, so a further header starts the next stream */
	bool has_content;
};

static int read_line(struct trace *trace, struct slice *line, bool *is_line, struct error *err)
{
	struct source *source = &trace->source;
	size_t searched = 0;
	const unsigned char *end = NULL;

	for (;;) {
		size_t left = source_left(source);

		if (left > searched)
			end = memchr(source_at(source) + searched, '\n', left - searched);
		if (end || source->is_finished || left >= LINE_MAX_BYTES)
			break;
		searched = left;
		if (source_fill(source, left + 1, err))
			return -err->number;
	}
	line->at = (const char *)source_at(source);
	line->length = end ? (size_t)(end - source_at(source)) : source_left(source);
	*is_line = end || line->length;
	if (line->length > LINE_MAX_BYTES)
		line->length = LINE_MAX_BYTES;
	return 0;
}

static const char *keep_text(struct trace *trace, struct slice text)
{
	return registry_text(&trace->registry, text.at, text.length);
}

/* ---- the queue ---- */

static struct event *queue_add(struct trace *trace, enum event_kind kind)
{
	struct reader *reader = trace->reader;
	struct event *event = ARRAY_ADD(&reader->queue);

	if (!event)
		return NULL;
	memset(event, 0, sizeof(*event));
	event->kind = kind;
	event->process = trace->process;
	return event;
}

/* Attaches the collected arguments to the last call in the queue. */
static bool end_arguments(struct trace *trace)
{
	struct reader *reader = trace->reader;
	size_t size = reader->arguments.count * sizeof(*reader->arguments.items);
	struct wire_value *copy;
	struct event *event;

	if (reader->arguments.count == 0)
		return true;
	event = &reader->queue.items[reader->last_call];
	copy = pool_alloc(&trace->scratch, size);
	if (!copy)
		return false;
	memcpy(copy, reader->arguments.items, size);
	event->arguments = copy;
	event->argument_count = (uint32_t)reader->arguments.count;
	reader->arguments.count = 0;
	return true;
}

/*
 * Completes the calls in the queue. is_whole: an empty line ended the calls, so a backtrace without
 * frames is empty and not missing.
 */
static bool end_calls(struct trace *trace, bool is_whole)
{
	struct reader *reader = trace->reader;
	const struct backtrace *backtrace = NULL;

	if (!end_arguments(trace))
		return false;
	if (is_whole || reader->frames.count) {
		backtrace = registry_backtrace(&trace->registry, reader->frames.items,
					       reader->has_texts ? reader->texts.items : NULL,
					       (uint32_t)reader->frames.count);
		if (!backtrace)
			return false;
	}
	for (size_t i = 0; i < reader->queue.count; i++) {
		struct event *event = &reader->queue.items[i];

		if (event->kind != EVENT_CALL)
			continue;
		event->backtrace = backtrace;
		trace_finish_call(trace, event);
	}
	reader->frames.count = reader->texts.count = 0;
	reader->has_texts = reader->has_calls = false;
	reader->is_ready = true;
	return true;
}

/* ---- lines ---- */

static uint64_t number_of(struct slice text)
{
	uint64_t number = 0;

	for (size_t i = 0; i < text.length && text.at[i] >= '0' && text.at[i] <= '9'; i++)
		number = number * 10 + (uint64_t)(text.at[i] - '0');
	return number;
}

static bool keep_header(struct trace *trace, const struct text_header *header)
{
	struct trace_process *process = trace->process;
	struct wire_value *pairs =
		pool_alloc(&trace->registry.pool, sizeof(*pairs) * header->count);
	const struct slice *value;

	if (!pairs)
		return false;
	for (size_t i = 0; i < header->count; i++) {
		pairs[i].name = keep_text(trace, header->pairs[i].key);
		pairs[i].value = keep_text(trace, header->pairs[i].value);
		if (!pairs[i].name || !pairs[i].value)
			return false;
	}
	process->headers = pairs;
	process->header_count = header->count;
	process->has_process = true;
	value = text_header_value(header, "arch");
	if (value)
		process->arch = keep_text(trace, *value);
	value = text_header_value(header, "process");
	if (value)
		process->name = keep_text(trace, *value);
	value = text_header_value(header, "pid");
	if (value)
		process->pid = (uint32_t)number_of(*value);
	value = text_header_value(header, "timestamp");
	if (value)
		process->seconds = text_parse_date(*value);
	value = text_header_value(header, "backtrace depth");
	if (value && value->length && value->at[0] != '-')
		process->depth = (int64_t)number_of(*value);
	value = text_header_value(header, "version");
	process->major = (unsigned)number_of(*value);
	return true;
}

static int begin_stream(struct trace *trace, struct error *err)
{
	struct reader *reader = trace->reader;
	int rc = trace_begin_stream(trace, err);

	if (rc)
		return rc;
	trace->process->is_text = true;
	reader->index = 0;
	reader->classes.count = 0;
	reader->has_content = false;
	return queue_add(trace, EVENT_STREAM) ? 0 : trace_no_memory(trace, err);
}

/*
 * True if the field `type` of a call's line denotes the class. sp-rtrace's tools write the class's
 * type as this field; by the format's document, the field is the class's number as a mask.
 */
static bool is_called(const struct resource_class *resource, struct slice type)
{
	char mask[16];

	if (slice_is(type, resource->type))
		return true;
	if (resource->ordinal < 1 || resource->ordinal > 32)
		return false;
	snprintf(mask, sizeof(mask), "%" PRIx32, UINT32_C(1) << (resource->ordinal - 1));
	return slice_is(type, mask);
}

static bool add_call(struct trace *trace, struct text_call *call)
{
	struct reader *reader = trace->reader;
	const struct resource_class *resource = NULL;
	struct event *event;

	for (size_t i = reader->classes.count; call->type.length && !resource && i-- > 0;)
		if (is_called(reader->classes.items[i], call->type))
			resource = reader->classes.items[i];
	if (!resource && call->type.length) {
		/* no class has this name, so <...> is part of a C++ name */
		call->name.length += call->type.length + 2;
		call->type.length = 0;
	}
	/* a call without a class belongs to the stream's only class, otherwise to class 0 */
	if (!resource)
		resource = reader->classes.count == 1 ? reader->classes.items[0]
						      : registry_resource(&trace->registry, 0);
	if (!end_arguments(trace) || !resource)
		return false;
	if (reader->queue.count * sizeof(*event) > trace->registry.pool.limit)
		return false;
	event = queue_add(trace, EVENT_CALL);
	if (!event)
		return false;
	event->function = registry_function(&trace->registry, call->name.at, call->name.length);
	if (!event->function)
		return false;
	event->index = reader->index = call->index;
	reader->last_call = reader->queue.count - 1;
	event->resource = resource;
	event->context = call->context;
	event->time_ms = call->time_ms;
	event->object = call->object;
	event->size = call->size;
	event->cpu = UINT32_MAX;
	event->type = call->is_alloc ? CALL_TYPE_ALLOC : CALL_TYPE_FREE;
	/* Text shows calls that neither acquire nor release in the form of frees. */
	if (!call->is_alloc &&
	    (resource->known == RESOURCE_EVENT || event->function->name[0] == WIRE_NOTE_PREFIX))
		event->type = CALL_TYPE_NONE;
	reader->has_calls = true;
	return true;
}

static bool add_mapping(struct trace *trace, const struct text_mapping *line)
{
	struct reader *reader = trace->reader;
	struct wire_mapping packet = { .from = line->from, .to = line->to };
	const struct trace_mapping *mapping;
	struct event *event;
	bool is_new;

	packet.path = keep_text(trace, line->path);
	packet.build_id = keep_text(trace, line->build_id);
	if (!packet.path || !packet.build_id)
		return false;
	mapping = registry_add_mapping(&trace->registry, &packet, false, reader->index, &is_new);
	if (!mapping || !is_new)
		return mapping != NULL;
	event = queue_add(trace, EVENT_MAPPING);
	if (event)
		event->mapping = mapping;
	return event;
}

static bool add_resource(struct trace *trace, const struct text_resource *line)
{
	struct reader *reader = trace->reader;
	struct wire_resource packet = { .id = line->ordinal, .flags = line->is_counted };
	const struct resource_class *resource, **place;
	struct event *event;
	bool is_new;

	packet.type = keep_text(trace, line->type);
	packet.description = keep_text(trace, line->description);
	if (!packet.type || !packet.description)
		return false;
	resource = registry_add_resource(&trace->registry, &packet, &is_new);
	if (!resource || !is_new)
		return resource != NULL;
	place = ARRAY_ADD(&reader->classes);
	event = queue_add(trace, EVENT_RESOURCE);
	if (!place || !event)
		return false;
	*place = event->resource = resource;
	return true;
}

/* Adds a line of a call, its arguments or its backtrace. */
static bool add_call_line(struct trace *trace, struct slice line, bool *is_known)
{
	struct reader *reader = trace->reader;
	struct text_call call;
	struct text_frame frame;
	struct text_argument argument;

	*is_known = true;
	if (line.length == 0)
		return reader->has_calls ? end_calls(trace, true) : true;
	if (text_parse_frame(line, &frame)) {
		const char **text;
		uint64_t *address;

		/* Drops a frame that belongs to no call, as sp-rtrace does. */
		if (!reader->has_calls || reader->frames.count >= DECODE_FRAMES_MAX)
			return true;
		address = ARRAY_ADD(&reader->frames);
		text = ARRAY_ADD(&reader->texts);
		if (!address || !text)
			return false;
		*address = frame.address;
		*text = frame.has_text ? keep_text(trace, frame.text) : NULL;
		reader->has_texts |= frame.has_text;
		return *text || !frame.has_text;
	}
	if (text_parse_call(line, &call))
		return add_call(trace, &call);
	if (reader->has_calls && text_parse_argument(line, &argument)) {
		struct wire_value *value;

		if (reader->arguments.count >= DECODE_ARGUMENTS_MAX)
			return true;
		value = ARRAY_ADD(&reader->arguments);
		if (!value)
			return false;
		value->name = pool_text(&trace->scratch, argument.name.at, argument.name.length);
		value->value = pool_text(&trace->scratch, argument.value.at, argument.value.length);
		return value->name && value->value;
	}
	*is_known = false;
	return true;
}

/* Completes the calls in the queue, if any, before a line of another kind is added. */
static bool end_before_other(struct trace *trace)
{
	const struct reader *reader = trace->reader;

	return !reader->has_calls || end_calls(trace, false);
}

/* Adds a line of any other kind. */
static bool add_other_line(struct trace *trace, struct slice line)
{
	const struct reader *reader = trace->reader;
	struct text_attachment attachment;
	struct text_resource resource;
	struct text_context context;
	struct text_mapping mapping;
	struct event *event;

	if (text_parse_mapping(line, &mapping))
		return end_before_other(trace) && add_mapping(trace, &mapping);
	if (text_parse_context(line, &context)) {
		struct trace_context *kept = pool_alloc(&trace->registry.pool, sizeof(*kept));

		event = kept && end_before_other(trace) ? queue_add(trace, EVENT_CONTEXT) : NULL;
		if (!event)
			return false;
		*kept = (struct trace_context){ context.bit, keep_text(trace, context.name) };
		event->call_context = kept;
		return kept->name;
	}
	if (text_parse_resource(line, &resource))
		return end_before_other(trace) && add_resource(trace, &resource);
	if (text_parse_attachment(line, &attachment)) {
		struct trace_attachment *kept = pool_alloc(&trace->registry.pool, sizeof(*kept));

		event = kept && end_before_other(trace) ? queue_add(trace, EVENT_ATTACHMENT) : NULL;
		if (!event)
			return false;
		kept->name = keep_text(trace, attachment.name);
		kept->path = keep_text(trace, attachment.path);
		event->attachment = kept;
		return kept->name && kept->path;
	}
	/* a comment may stand between a call and its backtrace */
	event = end_arguments(trace) ? queue_add(trace, EVENT_COMMENT) : NULL;
	if (!event)
		return false;
	event->index = reader->index;
	event->comment = pool_text(&trace->scratch, line.at, line.length);
	return event->comment;
}

/* Returns 0, 1 if the line must be read again after the queue was emptied, or a negative errno. */
static int add_line(struct trace *trace, struct slice line, struct error *err)
{
	struct reader *reader = trace->reader;
	struct text_header header;
	struct text_call call;
	bool is_known;

	if (line.length && line.at[line.length - 1] == '\r')
		line.length--;
	/* A NUL is not valid in text, and would cut names short. */
	if (memchr(line.at, '\0', line.length)) {
		trace_add_damage(trace, trace->source.offset, line.length, "a line contains a NUL");
		return 0;
	}
	if (text_is_passing_comment(line))
		return 0;
	/* the line starts something new, although no empty line has ended the calls in the queue */
	if (reader->has_calls && ((reader->frames.count && text_parse_call(line, &call)) ||
				  text_parse_header(line, &header)))
		return end_calls(trace, false) ? 1 : trace_no_memory(trace, err);
	if (text_parse_header(line, &header)) {
		if (reader->has_content) {
			int rc = begin_stream(trace, err);

			if (rc)
				return rc;
		}
		/* the stream counts as started, so a further header starts another stream */
		reader->has_content = true;
		if (!keep_header(trace, &header) || !queue_add(trace, EVENT_PROCESS))
			return trace_no_memory(trace, err);
		return 0;
	}
	reader->has_content = true;
	if (!add_call_line(trace, line, &is_known) || (!is_known && !add_other_line(trace, line)))
		return trace_no_memory(trace, err);
	/* without calls, the queue is complete: other events have no backtrace */
	if (!reader->has_calls)
		reader->is_ready = true;
	return 0;
}

/* Reads lines until the queue is complete or the input ends. */
static int fill_queue(struct trace *trace, struct error *err)
{
	struct reader *reader = trace->reader;

	while (!reader->is_ready || reader->queue.count == 0) {
		struct slice line;
		bool is_line;
		int rc = read_line(trace, &line, &is_line, err);
		size_t left;
		bool has_newline;

		/*
		 * The previous line may have set is_ready without adding an event; a mapping that
		 * is already known does that.
		 */
		reader->is_ready = false;
		if (rc)
			return rc;
		if (!is_line) {
			return end_before_other(trace) ? 0 : trace_no_memory(trace, err);
		}
		rc = add_line(trace, line, err);
		if (rc)
			return rc < 0 ? rc : 0;
		left = source_left(&trace->source);
		has_newline = line.length < left && line.at[line.length] == '\n';
		trace->tally.packets++;
		if (!has_newline && line.length < left) {
			trace_add_damage(trace, trace->source.offset, 0,
					 "a line is longer than %u bytes", LINE_MAX_BYTES);
		} else if (!has_newline) {
			/* without a newline, the line may be incomplete */
			trace_add_damage(trace, trace->source.offset, 0,
					 "the last line has no newline");
			trace->tally.is_truncated = true;
		}
		source_skip(&trace->source, line.length + has_newline);
	}
	return 0;
}

static int next_text(struct trace *trace, const struct event **event, struct error *err)
{
	struct reader *reader = trace->reader;

	if (reader->sent == reader->queue.count) {
		int rc;

		reader->sent = reader->queue.count = 0;
		reader->is_ready = false;
		pool_reset(&trace->scratch);
		rc = fill_queue(trace, err);
		if (rc)
			return rc;
		if (reader->queue.count == 0)
			return 0;
	}
	*event = &reader->queue.items[reader->sent++];
	return 1;
}

static void close_text(struct trace *trace)
{
	struct reader *reader = trace->reader;

	free(reader->queue.items);
	free(reader->frames.items);
	free(reader->texts.items);
	free(reader->arguments.items);
	free(reader->classes.items);
	free(reader);
}

int read_text_open(struct trace *trace, struct error *err)
{
	struct reader *reader = memory_zalloc(1, sizeof(*reader));
	int rc;

	if (!reader)
		return error_system(err, ENOMEM, "cannot create the reader of text");
	trace->reader = reader;
	trace->next = next_text;
	trace->close = close_text;
	rc = begin_stream(trace, err);
	reader->is_ready = true;
	return rc;
}

bool read_text_recognises(const unsigned char *bytes, size_t size)
{
	const unsigned char *nul = memchr(bytes, '\0', size);
	struct slice rest = slice((const char *)bytes, nul ? (size_t)(nul - bytes) : size);

	/* If valid lines precede a NUL, the NUL is damage. Otherwise the input is not text. */
	while (rest.length) {
		const char *end = memchr(rest.at, '\n', rest.length);
		struct slice line = slice(rest.at, end ? (size_t)(end - rest.at) : rest.length);
		struct text_header header;
		struct text_mapping mapping;
		struct text_resource resource;
		struct text_call call;

		if (text_parse_header(line, &header) || text_parse_mapping(line, &mapping) ||
		    text_parse_resource(line, &resource) || text_parse_call(line, &call))
			return true;
		rest = slice(line.at + line.length, rest.length - line.length);
		if (rest.length)
			rest = slice(rest.at + 1, rest.length - 1);
	}
	return false;
}
