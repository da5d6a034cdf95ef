/* SPDX-License-Identifier: MIT */
/*
 * Makes events from a stream of sp-rtrace packets: a handshake, then packets. The bytes come from
 * the source or from a block of a container. Streams differ in three ways: the position of a
 * packet's size (decode.h), the field order of CALL (sp-rtrace's own, or the order in its document
 * for 1.4) and whether holdtrace's tails are present. A call is complete when a packet follows that
 * cannot belong to the call.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "trace/decode.h"
#include "trace/state.h"

#define PACKETS_NAMES 64u /* number of places in the cache of functions, a power of 2 */

/* The state of the reader of packets. */
struct binary {
	struct framing framing;
	bool has_tails;
	bool has_call;	    /* trace->event is a call that awaits its arguments and backtrace */
	bool has_backtrace; /* the call already has its backtrace */
	uint64_t index;	    /* index of the last call */
	/* recently used functions, by a hash of the first bytes of their names */
	const struct function *names[PACKETS_NAMES];
	unsigned absent_process, absent_resource;
	struct wire_value arguments[DECODE_ARGUMENTS_MAX]; /* arguments of the call */
	uint64_t frames[DECODE_FRAMES_MAX];
};

/* The result of decoding a packet. */
enum taken {
	TAKEN_EVENT,   /* trace->event is ready */
	TAKEN_CALL,    /* trace->event is a call, which later packets may complete */
	TAKEN_NOTHING, /* the packet makes no event */
	TAKEN_MISPLACED,
	TAKEN_DAMAGED,
	TAKEN_NO_MEMORY,
};

/* ---- the contents of packets ---- */

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
	 * On 64-bit machines, sp-rtrace writes the packet's two pointers as dwords, so the packet
	 * has 48 bytes instead of 56.
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

static enum taken take_call(struct trace *trace, struct cursor *cursor)
{
	struct binary *binary = trace->reader;
	struct wire_call packet;
	struct event *event;
	enum decoded decoded =
		binary->has_tails
			? decode_call(cursor, 0, true, &packet)
			: decode_plain_call(cursor, binary->framing.is_document_order, &packet);
	const struct function **place;
	uint64_t key = 0;
	size_t length;

	if (decoded == DECODE_FAILED)
		return TAKEN_DAMAGED;
	binary->has_backtrace = false;
	event = trace_new_event(trace, EVENT_CALL);
	event->index = ++binary->index;
	/* about half of the calls are to a recently used function: looks in a small cache first */
	length = strlen(packet.function);
	memcpy(&key, packet.function, length < sizeof(key) ? length : sizeof(key));
	place = &binary->names[hash_mix(key, 0xa0761d6478bd642full ^ length) % PACKETS_NAMES];
	if (!*place || (*place)->length != length ||
	    memcmp((*place)->name, packet.function, length) != 0)
		*place = registry_function(&trace->registry, packet.function, length);
	event->function = *place;
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
	if (decoded == DECODE_TAIL) {
		event->has_tail = true;
		event->operation = packet.what.operation < OPERATION_COUNT
					   ? (enum operation)packet.what.operation
					   : OPERATION_NONE;
		event->moment = packet.what.moment;
		event->part = packet.what.part;
		event->flags = packet.what.bits;
		event->thread = packet.thread;
		event->cpu = packet.cpu;
		event->depth = packet.depth;
		event->error = packet.error;
		event->pthread = packet.pthread;
		event->call = packet.call;
		event->enter_ns = packet.enter_ns;
		event->leave_ns = packet.leave_ns;
		event->size = packet.bytes;
		event->related = packet.related;
		event->result = packet.result;
		event->frame = packet.frame;
	}
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
	/* In streams without tails, arguments may follow the backtrace, as in BINARY_PROTOCOL. */
	if (!binary->has_tails) {
		binary->has_backtrace = true;
		return TAKEN_NOTHING;
	}
	binary->has_call = false;
	trace_finish_call(trace, &trace->event);
	return TAKEN_EVENT;
}

static enum taken packets_take(struct trace *trace, const unsigned char *bytes,
			       const struct frame *frame)
{
	struct binary *binary = trace->reader;
	struct cursor cursor = binary->framing.cursor;

	cursor.at = bytes + frame->aside + WIRE_HEADER_SIZE;
	cursor.end = bytes + frame->size;
	cursor.pool = &trace->scratch;
	cursor.frames = binary->frames;
	/*
	 * Strings live until the next event starts. The strings of a pending call must remain while
	 * its further packets are read.
	 */
	if (!binary->has_call)
		pool_reset(&trace->scratch);
	switch (frame->packet) {
	case WIRE_PACKET_PINF:
		return take_process(trace, &cursor);
	case WIRE_PACKET_MINF:
		return take_tracer(trace, &cursor);
	case WIRE_PACKET_MMAP:
		return take_mapping(trace, &cursor);
	case WIRE_PACKET_CTXR:
		return take_context(trace, &cursor);
	case WIRE_PACKET_RESR:
		return take_resource(trace, &cursor);
	case WIRE_PACKET_CALL:
		return take_call(trace, &cursor);
	case WIRE_PACKET_ARGS:
		return take_arguments(trace, &cursor);
	case WIRE_PACKET_BTRC:
		return take_backtrace(trace, &cursor);
	case WIRE_PACKET_HINF:
		return take_heap(trace, &cursor);
	case WIRE_PACKET_FILE:
		return take_attachment(trace, &cursor);
	case WIRE_PACKET_NLIB:
	case WIRE_PACKET_OCFG:
	case WIRE_PACKET_COUNT:
		break;
	}
	return TAKEN_NOTHING;
}

/* ---- streams ---- */

/* Begins a stream. bytes: a handshake that framing_handshake_size() accepted. */
static int begin_stream(struct trace *trace, const unsigned char *bytes, struct error *err)
{
	struct binary *binary = trace->reader;
	size_t arch = bytes[4];
	struct trace_process *process;
	int rc = trace_begin_stream(trace, err);

	if (rc)
		return rc;
	process = trace->process;
	process->major = bytes[2];
	process->minor = bytes[3];
	process->arch = registry_text(&trace->registry, (const char *)bytes + 5,
				      strnlen((const char *)bytes + 5, arch));
	process->is_big_endian = bytes[5 + arch];
	process->pointer_size = bytes[6 + arch];
	if (!process->arch)
		return trace_no_memory(trace, err);
	if (process->major < 1 || process->major > WIRE_MAJOR)
		return error_set(
			err, EPROTO,
			"is a stream of version %u.%u, but only versions 1 and 2 are supported: "
			"use the holdtrace-postproc of the version that wrote it",
			process->major, process->minor);
	binary->framing.cursor.is_swapped =
		process->is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	binary->framing.cursor.pointer_size = (uint8_t)process->pointer_size;
	binary->framing.is_size_first = binary->framing.is_document_order = false;
	binary->has_tails = false;
	binary->framing.is_known = process->major >= 2;
	binary->absent_process = binary->absent_resource = 0;
	if (process->major == 1 && process->minor < 2)
		binary->absent_process = ABSENT_PROCESS_DEPTH;
	if (process->major == 1 && process->minor < 3)
		binary->absent_resource = ABSENT_RESOURCE_FLAGS;
	binary->index = 0;
	trace_new_event(trace, EVENT_STREAM);
	return 0;
}

/* Returns 1 and sets trace->event, 0 to continue, or a negative errno. */
static int read_packet(struct trace *trace, const struct frame *frame, struct error *err)
{
	struct binary *binary = trace->reader;
	char what[64];
	enum taken taken;
	int rc = source_need(&trace->source, frame->size, err);

	if (rc)
		return rc;
	if (source_left(&trace->source) < frame->size) {
		snprintf(what, sizeof(what), "%s packet is longer than the rest of the input",
			 framing_tag(frame));
		return framing_step_over_rest(trace, &binary->framing, what, err);
	}
	if (frame->kind == FRAME_UNKNOWN)
		return framing_step_over_unknown(trace, &binary->framing, frame, err);
	trace->tally.packets++;
	taken = packets_take(trace, source_at(&trace->source), frame);
	if (taken == TAKEN_NO_MEMORY)
		return trace_no_memory(trace, err);
	if (taken == TAKEN_DAMAGED) {
		snprintf(what, sizeof(what), "the contents of a %s packet are damaged",
			 framing_tag(frame));
		return framing_step_over(trace, &binary->framing, frame, what, err);
	}
	binary->has_call = taken == TAKEN_CALL || (binary->has_call && taken == TAKEN_NOTHING);
	trace->tally.misplaced += taken == TAKEN_MISPLACED;
	source_skip(&trace->source, frame->size);
	return taken == TAKEN_EVENT;
}

/* Returns the same as read_packet(), or -ENODATA at the end. */
static int read_frame(struct trace *trace, const struct frame *frame, struct error *err)
{
	const struct binary *binary = trace->reader;
	int rc;

	switch (frame->kind) {
	case FRAME_END:
		return -ENODATA;
	case FRAME_CUT:
		return framing_step_over_rest(trace, &binary->framing, "a packet is incomplete",
					      err);
	case FRAME_HANDSHAKE:
		rc = begin_stream(trace, source_at(&trace->source), err);
		source_skip(&trace->source, rc ? 0 : frame->size);
		return rc ? rc : 1;
	case FRAME_PACKET:
	case FRAME_UNKNOWN:
		return read_packet(trace, frame, err);
	case FRAME_DAMAGED:
		break;
	}
	return framing_resynchronise(trace, &binary->framing, "no packet starts there", err);
}

static int next_binary(struct trace *trace, const struct event **result, struct error *err)
{
	struct binary *binary = trace->reader;
	int rc = 0;

	while (rc == 0) {
		uint64_t damages = trace->tally.damages;
		struct frame frame;

		if (!binary->framing.is_known)
			rc = framing_learn(trace, &binary->framing, err);
		if (rc == 0)
			rc = framing_look(trace, &binary->framing, 0, &frame, err);
		if (rc)
			return rc;
		/* reads the item, unless it is a packet that cannot belong to the pending call */
		if (!binary->has_call ||
		    (frame.kind == FRAME_PACKET &&
		     (frame.packet == WIRE_PACKET_ARGS ||
		      (frame.packet == WIRE_PACKET_BTRC && !binary->has_backtrace)))) {
			rc = read_frame(trace, &frame, err);
			/* After damage, the next packets belong to another call. */
			if (rc != 0 || !binary->has_call || trace->tally.damages == damages)
				continue;
		}
		binary->has_call = false;
		trace_finish_call(trace, &trace->event);
		rc = 1;
	}
	if (rc == -ENODATA)
		return 0;
	*result = &trace->event;
	return rc;
}

static void close_binary(struct trace *trace)
{
	free(trace->reader);
}

/* ---- packets in memory ---- */

int read_binary_piece(struct trace *trace, const unsigned char *bytes, size_t size, uint64_t calls,
		      struct error *err)
{
	struct binary *binary = trace->reader;
	enum taken taken = TAKEN_NOTHING;
	struct frame frame;

	if (size && *bytes == WIRE_HANDSHAKE) {
		int rc = framing_handshake_size(bytes, size) ? begin_stream(trace, bytes, err)
							     : -EBADMSG;

		return rc == -EBADMSG
			       ? error_set(err, EBADMSG, "has a damaged first packet (handshake)")
		       : rc ? rc
			    : 1;
	}
	binary->index = calls;
	binary->has_call = false;
	for (; size && taken != TAKEN_EVENT; bytes += frame.size, size -= frame.size) {
		if (!trace->process || !framing_at(&binary->framing, bytes, size, &frame))
			taken = TAKEN_DAMAGED;
		else
			taken = packets_take(trace, bytes, &frame);
		if (taken == TAKEN_DAMAGED || taken == TAKEN_NO_MEMORY)
			break;
		trace->tally.packets++;
		binary->has_call =
			taken == TAKEN_CALL || (binary->has_call && taken == TAKEN_NOTHING);
	}
	if (taken == TAKEN_DAMAGED)
		trace_add_damage(trace, trace->source.offset, size,
				 "the contents of a packet are damaged");
	if (taken == TAKEN_NO_MEMORY)
		return trace_no_memory(trace, err);
	if (binary->has_call) {
		binary->has_call = false;
		trace_finish_call(trace, &trace->event);
		return 1;
	}
	return taken == TAKEN_EVENT;
}

int read_binary_begin(struct trace *trace, struct error *err)
{
	struct binary *binary = memory_zalloc(1, sizeof(*binary));

	if (!binary)
		return error_system(err, ENOMEM, "cannot create the reader of packets");
	framing_begin(&binary->framing);
	trace->reader = binary;
	return 0;
}

int read_binary_open(struct trace *trace, struct error *err)
{
	struct binary *binary;
	int rc = read_binary_begin(trace, err);

	if (rc)
		return rc;
	binary = trace->reader;
	trace->next = next_binary;
	trace->close = close_binary;
	/* next_binary() must not call framing_learn() before the handshake */
	binary->framing.is_known = true;
	rc = source_need(&trace->source, 2, err);
	if (rc == 0 && source_left(&trace->source) >= 2)
		rc = source_need(&trace->source, source_at(&trace->source)[1] + 2u, err);
	if (rc)
		return rc;
	if (framing_handshake_size(source_at(&trace->source), source_left(&trace->source)))
		return 0;
	if (source_left(&trace->source) < 2 ||
	    source_left(&trace->source) < source_at(&trace->source)[1] + 2u)
		return error_set(err, EBADMSG,
				 "ends inside its first packet, the handshake: "
				 "nothing was recorded");
	return error_set(err, EBADMSG,
			 "not a trace, or its first packet (the handshake) is damaged");
}
