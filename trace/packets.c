/* SPDX-License-Identifier: MIT */
/*
 * Makes events of sp-rtrace packets: one function for each packet decodes it and sets the members
 * of the trace's event. Up to three packets make a call.
 */
#include "trace/packets.h"

#include <string.h>

static const char *keep_text(struct trace *trace, const char *text)
{
	return registry_text(&trace->registry, text, strlen(text));
}

static enum taken take_process(struct trace *trace, struct cursor *cursor)
{
	struct binary *binary = trace->reader;
	struct trace_process *process = trace->process;
	struct wire_process packet;
	enum decoded decoded = decode_process(cursor, binary->absent_process, true, &packet);

	if (decoded == DECODE_FAILED)
		return TAKEN_DAMAGED;
	process->has_process = true;
	process->pid = packet.pid;
	process->seconds = packet.seconds;
	process->microseconds = packet.microseconds;
	process->depth = binary->absent_process ? -1 : (int32_t)packet.depth;
	process->name = keep_text(trace, packet.name);
	process->has_tails = decoded == DECODE_TAIL && packet.marker == WIRE_TAIL_MARKER;
	binary->has_tails = process->has_tails;
	if (process->has_tails) {
		process->session[0] = packet.session_low;
		process->session[1] = packet.session_high;
		process->stream = packet.stream;
		process->parent_stream = packet.parent_stream;
		process->parent_pid = packet.parent_pid;
		process->start_ns = packet.start_ns;
		process->realtime_ns = packet.realtime_ns;
	}
	trace_new_event(trace, EVENT_PROCESS);
	return process->name ? TAKEN_EVENT : TAKEN_NO_MEMORY;
}

static enum taken take_tracer(struct trace *trace, struct cursor *cursor)
{
	struct wire_tracer packet;
	struct trace_tracer *tracer;

	if (decode_tracer(cursor, 0, false, &packet) == DECODE_FAILED)
		return TAKEN_DAMAGED;
	tracer = pool_alloc(&trace->registry.pool, sizeof(*tracer));
	if (!tracer)
		return TAKEN_NO_MEMORY;
	*tracer = (struct trace_tracer){ packet.id, packet.version, keep_text(trace, packet.name) };
	trace_new_event(trace, EVENT_TRACER)->tracer = tracer;
	return tracer->name ? TAKEN_EVENT : TAKEN_NO_MEMORY;
}

static enum taken take_mapping(struct trace *trace, struct cursor *cursor)
{
	struct binary *binary = trace->reader;
	struct wire_mapping packet;
	enum decoded decoded = decode_mapping(cursor, 0, binary->has_tails, &packet);
	const struct trace_mapping *mapping;
	bool is_new;

	if (decoded == DECODE_FAILED)
		return TAKEN_DAMAGED;
	mapping = registry_add_mapping(&trace->registry, &packet, decoded == DECODE_TAIL,
				       binary->index, &is_new);
	if (!mapping)
		return TAKEN_NO_MEMORY;
	if (!is_new && !trace->wants_repeats)
		return TAKEN_NOTHING;
	trace_new_event(trace, EVENT_MAPPING)->mapping = mapping;
	return TAKEN_EVENT;
}

static enum taken take_context(struct trace *trace, struct cursor *cursor)
{
	struct wire_context packet;
	struct trace_context *context;

	if (decode_context(cursor, 0, false, &packet) == DECODE_FAILED)
		return TAKEN_DAMAGED;
	context = pool_alloc(&trace->registry.pool, sizeof(*context));
	if (!context)
		return TAKEN_NO_MEMORY;
	*context = (struct trace_context){ packet.id, keep_text(trace, packet.name) };
	trace_new_event(trace, EVENT_CONTEXT)->call_context = context;
	return context->name ? TAKEN_EVENT : TAKEN_NO_MEMORY;
}

static enum taken take_resource(struct trace *trace, struct cursor *cursor)
{
	struct binary *binary = trace->reader;
	struct wire_resource packet;
	const struct resource_class *resource;
	bool is_new;

	if (decode_resource(cursor, binary->absent_resource, false, &packet) == DECODE_FAILED)
		return TAKEN_DAMAGED;
	resource = registry_add_resource(&trace->registry, &packet, &is_new);
	if (!resource)
		return TAKEN_NO_MEMORY;
	if (!is_new && !trace->wants_repeats)
		return TAKEN_NOTHING;
	trace_new_event(trace, EVENT_RESOURCE)->resource = resource;
	return TAKEN_EVENT;
}

static enum taken take_attachment(struct trace *trace, struct cursor *cursor)
{
	struct wire_attachment packet;
	struct trace_attachment *attachment;

	if (decode_attachment(cursor, 0, false, &packet) == DECODE_FAILED)
		return TAKEN_DAMAGED;
	attachment = pool_alloc(&trace->registry.pool, sizeof(*attachment));
	if (!attachment)
		return TAKEN_NO_MEMORY;
	attachment->name = keep_text(trace, packet.name);
	attachment->path = keep_text(trace, packet.path);
	trace_new_event(trace, EVENT_ATTACHMENT)->attachment = attachment;
	return attachment->name && attachment->path ? TAKEN_EVENT : TAKEN_NO_MEMORY;
}

static enum taken take_heap(struct trace *trace, struct cursor *cursor)
{
	struct trace_heap *heap;

	/*
	 * On 64-bit machines sp-rtrace writes the two pointers as dwords: 48 bytes instead of 56.
	 */
	if (cursor->end - cursor->at == 48)
		cursor->pointer_size = 4;
	heap = pool_alloc(&trace->registry.pool, sizeof(*heap));
	if (!heap)
		return TAKEN_NO_MEMORY;
	if (decode_heap(cursor, 0, false, &heap->state) == DECODE_FAILED)
		return TAKEN_DAMAGED;
	trace_new_event(trace, EVENT_HEAP)->heap = heap;
	return TAKEN_EVENT;
}

static void fill_tail(struct event *event, const struct wire_call *packet)
{
	event->has_tail = true;
	event->operation = packet->what.operation < OPERATION_COUNT
				   ? (enum operation)packet->what.operation
				   : OPERATION_NONE;
	event->moment = packet->what.moment;
	event->part = packet->what.part;
	event->flags = packet->what.bits;
	event->thread = packet->thread;
	event->cpu = packet->cpu;
	event->depth = packet->depth;
	event->error = packet->error;
	event->pthread = packet->pthread;
	event->call = packet->call;
	event->enter_ns = packet->enter_ns;
	event->leave_ns = packet->leave_ns;
	event->size = packet->bytes;
	event->related = packet->related;
	event->result = packet->result;
	event->frame = packet->frame;
}

/* A small cache in front of the registry: about every second call is to a recent function. */
static const struct function *find_function(struct trace *trace, const char *name)
{
	struct binary *binary = trace->reader;
	size_t length = strlen(name);
	uint64_t key = 0;
	const struct function **place;

	memcpy(&key, name, length < sizeof(key) ? length : sizeof(key));
	place = &binary->names[hash_mix(key, 0xa0761d6478bd642full ^ length) % PACKETS_NAMES];
	if (!*place || (*place)->length != length || memcmp((*place)->name, name, length) != 0)
		*place = registry_function(&trace->registry, name, length);
	return *place;
}

static enum taken take_call(struct trace *trace, struct cursor *cursor)
{
	struct binary *binary = trace->reader;
	struct wire_call packet;
	struct event *event;
	enum decoded decoded =
		binary->has_tails
			? decode_call(cursor, 0, true, &packet)
			: decode_plain_call(cursor, binary->framing.is_document_order, &packet);

	if (decoded == DECODE_FAILED)
		return TAKEN_DAMAGED;
	binary->has_backtrace = false;
	event = trace_new_event(trace, EVENT_CALL);
	event->index = ++binary->index;
	event->function = find_function(trace, packet.function);
	event->resource = registry_resource(&trace->registry, packet.resource);
	if (!event->function || !event->resource)
		return TAKEN_NO_MEMORY;
	event->context = packet.context;
	event->time_ms = packet.timestamp;
	event->type = packet.type <= CALL_TYPE_ALLOC ? (enum call_type)packet.type : CALL_TYPE_NONE;
	event->object = packet.object;
	event->size = binary->has_tails ? packet.size : packet.bytes;
	event->arguments = binary->arguments;
	event->cpu = UINT32_MAX;
	if (decoded == DECODE_TAIL)
		fill_tail(event, &packet);
	return TAKEN_CALL;
}

static enum taken take_arguments(struct trace *trace, struct cursor *cursor)
{
	struct binary *binary = trace->reader;
	struct event *event = &trace->event;
	struct wire_arguments packet;

	if (!binary->has_call)
		return TAKEN_MISPLACED;
	if (decode_arguments(cursor, 0, false, &packet) == DECODE_FAILED ||
	    event->argument_count + packet.list.count > DECODE_ARGUMENTS_MAX)
		return TAKEN_DAMAGED;
	if (packet.list.count)
		memcpy(binary->arguments + event->argument_count, packet.list.items,
		       packet.list.count * sizeof(*packet.list.items));
	event->argument_count += packet.list.count;
	return TAKEN_NOTHING;
}

static enum taken take_backtrace(struct trace *trace, struct cursor *cursor)
{
	struct binary *binary = trace->reader;
	struct wire_backtrace packet;

	if (!binary->has_call)
		return TAKEN_MISPLACED;
	if (decode_backtrace(cursor, 0, false, &packet) == DECODE_FAILED)
		return TAKEN_DAMAGED;
	trace->event.backtrace = registry_backtrace(&trace->registry, packet.frames.items, NULL,
						    packet.frames.count);
	if (!trace->event.backtrace)
		return TAKEN_NO_MEMORY;
	/* Streams written from the document have the arguments after the backtrace. */
	if (!binary->has_tails) {
		binary->has_backtrace = true;
		return TAKEN_NOTHING;
	}
	binary->has_call = false;
	trace_finish_call(trace, &trace->event);
	return TAKEN_EVENT;
}

static enum taken take(struct trace *trace, enum wire_packet packet, struct cursor *cursor)
{
	switch (packet) {
	case WIRE_PACKET_PINF:
		return take_process(trace, cursor);
	case WIRE_PACKET_MINF:
		return take_tracer(trace, cursor);
	case WIRE_PACKET_MMAP:
		return take_mapping(trace, cursor);
	case WIRE_PACKET_CTXR:
		return take_context(trace, cursor);
	case WIRE_PACKET_RESR:
		return take_resource(trace, cursor);
	case WIRE_PACKET_CALL:
		return take_call(trace, cursor);
	case WIRE_PACKET_ARGS:
		return take_arguments(trace, cursor);
	case WIRE_PACKET_BTRC:
		return take_backtrace(trace, cursor);
	case WIRE_PACKET_HINF:
		return take_heap(trace, cursor);
	case WIRE_PACKET_FILE:
		return take_attachment(trace, cursor);
	case WIRE_PACKET_NLIB:
	case WIRE_PACKET_OCFG:
	case WIRE_PACKET_COUNT:
		break;
	}
	return TAKEN_NOTHING;
}

enum taken packets_take(struct trace *trace, const unsigned char *bytes, const struct frame *frame)
{
	struct binary *binary = trace->reader;
	struct cursor cursor = binary->framing.cursor;

	cursor.at = bytes + frame->aside + WIRE_HEADER_SIZE;
	cursor.end = bytes + frame->size;
	cursor.pool = &trace->scratch;
	cursor.frames = binary->frames;
	/*
	 * Strings live as long as the event; those of a call's arguments until its backtrace is
	 * read.
	 */
	if (!binary->has_call)
		pool_reset(&trace->scratch);
	return take(trace, frame->packet, &cursor);
}
