/* SPDX-License-Identifier: MIT */
/*
 * sp-rtrace packets as events. Three things vary: where the size stands (before 2.0 in front of
 * the tag), the order of CALL's fields (the 1.4 document's or the shipped one) and whether our
 * tails are there. A call is complete when something follows that cannot belong to it.
 */
#include "trace/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/decode.h"

struct binary {
	struct cursor cursor; /* what every packet's cursor begins as */
	bool is_size_first;
	bool is_document_order;
	bool has_tails;
	bool is_framing_known;
	bool has_call;	/* the trace's event waits for its arguments and backtrace */
	uint64_t index; /* of the last call */
	unsigned absent_process, absent_resource;
	struct wire_value arguments[DECODE_ARGUMENTS_MAX]; /* of the call */
	uint64_t frames[DECODE_FRAMES_MAX];
};

/* A place in the stream, looked at but not consumed. */
enum frame_kind {
	FRAME_END, /* the input ends here */
	FRAME_CUT, /* and here, but inside something */
	FRAME_HANDSHAKE,
	FRAME_PACKET,  /* of a known tag */
	FRAME_UNKNOWN, /* like a packet, of a tag that nobody knows */
	FRAME_DAMAGED,
};

struct frame {
	enum frame_kind kind;
	enum wire_packet packet;
	uint32_t tag;
	uint32_t size; /* of everything */
};

static const char tag_names[WIRE_PACKET_COUNT][5] = {
#define PACKET(name, tag, description) #tag,
#define FIELD(kind, name, description)
#define TAIL(kind, name, description)
#define PACKET_END(name)
#include "wire.def"
#undef PACKET
#undef FIELD
#undef TAIL
#undef PACKET_END
};

static bool find_tag(uint32_t tag, enum wire_packet *packet)
{
	for (unsigned i = 0; i < WIRE_PACKET_COUNT; i++) {
		if (WIRE_TAG(tag_names[i]) == tag) {
			*packet = (enum wire_packet)i;
			return true;
		}
	}
	return false;
}

static bool is_tag_like(uint32_t tag)
{
	for (int i = 0; i < 4; i++, tag >>= 8)
		if ((tag & 0xff) < 0x21 || (tag & 0xff) > 0x7e)
			return false;
	return true;
}

/* The size of a handshake that begins at bytes, or 0 if it is none. */
static size_t handshake_size(const unsigned char *bytes, size_t left)
{
	size_t arch;

	if (left < 7 || bytes[0] != WIRE_HANDSHAKE)
		return 0;
	arch = bytes[4];
	if (bytes[1] + 2u < 7 + arch || bytes[1] + 2u > left || bytes[5 + arch] > 1 ||
	    (bytes[6 + arch] != 4 && bytes[6 + arch] != 8))
		return 0;
	return bytes[1] + 2u;
}

/*
 * In the middle of a stream, where a handshake begins the next one, it must be one that could be
 * read: anything else that looks like it is damage.
 */
static size_t next_handshake_size(const unsigned char *bytes, size_t left)
{
	size_t size = handshake_size(bytes, left);

	if (size == 0 || bytes[2] < 1 || bytes[2] > WIRE_MAJOR)
		return 0;
	for (size_t i = 0; i < bytes[4]; i++)
		if (bytes[5 + i] <= 0x20 || bytes[5 + i] >= 0x7f)
			return 0;
	return size;
}

/* What stands distance bytes ahead of the source's place. Never looks at contents. */
static int look(struct trace *trace, size_t distance, struct frame *frame, struct error *err)
{
	struct binary *binary = trace->reader;
	struct cursor cursor = binary->cursor;
	size_t left;
	uint32_t size;
	int rc = source_need(&trace->source, distance + WIRE_HEADER_SIZE, err);

	if (rc)
		return rc;
	if (source_left(&trace->source) <= distance) {
		frame->kind = source_left(&trace->source) == distance ? FRAME_END : FRAME_CUT;
		return 0;
	}
	left = source_left(&trace->source) - distance;
	cursor.at = source_at(&trace->source) + distance;
	cursor.end = cursor.at + left;
	if (left >= 2 && *cursor.at == WIRE_HANDSHAKE) {
		rc = source_need(&trace->source, distance + 2 + cursor.at[1], err);
		if (rc)
			return rc;
		left = source_left(&trace->source) - distance;
		cursor.at = source_at(&trace->source) + distance;
		cursor.end = cursor.at + left;
		frame->size = (uint32_t)(trace->process ? next_handshake_size(cursor.at, left)
							: handshake_size(cursor.at, left));
		frame->kind = FRAME_HANDSHAKE;
		if (frame->size)
			return 0;
	}
	if (left < WIRE_HEADER_SIZE) {
		frame->kind = FRAME_CUT;
		return 0;
	}
	frame->tag = cursor_dword(&cursor);
	size = cursor_dword(&cursor);
	if (binary->is_size_first) {
		uint32_t first = frame->tag;

		frame->tag = size;
		size = first - 4; /* wraps for 0 to 3 and is too large then */
	}
	frame->size = size + WIRE_HEADER_SIZE;
	frame->kind = find_tag(frame->tag, &frame->packet) ? FRAME_PACKET : FRAME_UNKNOWN;
	if (size > WIRE_READ_MAX || size % 4 != 0 ||
	    (frame->kind == FRAME_UNKNOWN && !is_tag_like(frame->tag)))
		frame->kind = FRAME_DAMAGED;
	return 0;
}

/* True if a packet could end distance bytes ahead: the end, or something known, is there. */
static int is_boundary(struct trace *trace, size_t distance, bool *answer, struct error *err)
{
	struct frame frame = { 0 };
	int rc = look(trace, distance, &frame, err);

	*answer = frame.kind == FRAME_END || frame.kind == FRAME_HANDSHAKE ||
		  frame.kind == FRAME_PACKET || frame.kind == FRAME_UNKNOWN;
	return rc;
}

/* True if a packet of a known tag that is whole, or a handshake, is there. */
static int is_plausible(struct trace *trace, bool *answer, struct error *err)
{
	struct frame frame = { 0 };
	int rc = look(trace, 0, &frame, err);

	*answer = false;
	if (rc || (frame.kind != FRAME_PACKET && frame.kind != FRAME_HANDSHAKE))
		return rc;
	return is_boundary(trace, frame.size, answer, err);
}

/* Steps over what cannot be read to the next place that can, and notes it. */
static int resynchronise(struct trace *trace, const char *what, struct error *err)
{
	struct source *source = &trace->source;
	uint64_t start = source->offset;
	bool is_found = false;

	do {
		int rc = source_need(source, 1, err);

		if (rc)
			return rc;
		if (source_left(source) == 0)
			break;
		source_skip(source, 1);
		rc = is_plausible(trace, &is_found, err);
		if (rc)
			return rc;
	} while (!is_found);
	trace_add_damage(trace, start, source->offset - start, "%s", what);
	return 0;
}

/* A packet that is not whole: the input was cut there, or its size is wrong. */
static int step_over_rest(struct trace *trace, const char *what, struct error *err)
{
	int rc = resynchronise(trace, what, err);

	if (rc == 0 && source_left(&trace->source) == 0)
		trace->tally.is_truncated = true;
	return rc;
}

/* bytes: a handshake that handshake_size() found to be one. */
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
		return error_set(err, EPROTO,
				 "is a stream of version %u.%u, and versions 1 and 2 are known: "
				 "use the holdtrace-postproc of what wrote it",
				 process->major, process->minor);
	binary->cursor.is_swapped =
		process->is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	binary->cursor.pointer_size = (uint8_t)process->pointer_size;
	binary->is_size_first = binary->is_document_order = binary->has_tails = false;
	binary->is_framing_known = process->major >= 2;
	binary->absent_process = binary->absent_resource = 0;
	if (process->major == 1 && process->minor < 2)
		binary->absent_process = ABSENT_PROCESS_DEPTH;
	if (process->major == 1 && process->minor < 3)
		binary->absent_resource = ABSENT_RESOURCE_FLAGS;
	binary->index = 0;
	trace_new_event(trace, EVENT_STREAM);
	return 0;
}

/*
 * Before 2.0 sp-rtrace wrote the size first; its document never did. So tag first in a 1.x stream
 * means that it was written from the document, and then CALL's fields are in its order, too.
 */
static int learn_framing(struct trace *trace, struct error *err)
{
	struct binary *binary = trace->reader;
	struct frame frame;
	int rc = look(trace, 0, &frame, err);

	if (rc)
		return rc;
	if (frame.kind != FRAME_PACKET) {
		binary->is_size_first = true;
		rc = look(trace, 0, &frame, err);
		if (rc)
			return rc;
		binary->is_size_first = frame.kind == FRAME_PACKET;
	}
	binary->is_document_order = !binary->is_size_first;
	binary->is_framing_known = true;
	return 0;
}

/* What decoding a packet came to. */
enum taken {
	TAKEN_EVENT,   /* the trace's event is ready */
	TAKEN_CALL,    /* the trace's event is a call that may go on */
	TAKEN_NOTHING, /* nothing that a user would see */
	TAKEN_MISPLACED,
	TAKEN_DAMAGED,
	TAKEN_NO_MEMORY,
};

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

	/* sp-rtrace on 64-bit machines writes the two pointers as dwords: 48 bytes, not 56. */
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

static enum taken take_call(struct trace *trace, struct cursor *cursor)
{
	struct binary *binary = trace->reader;
	struct wire_call packet;
	struct event *event;
	enum decoded decoded =
		binary->has_tails ? decode_call(cursor, 0, true, &packet)
				  : decode_plain_call(cursor, binary->is_document_order, &packet);

	if (decoded == DECODE_FAILED)
		return TAKEN_DAMAGED;
	event = trace_new_event(trace, EVENT_CALL);
	event->index = ++binary->index;
	event->function =
		registry_function(&trace->registry, packet.function, strlen(packet.function));
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

/* The packet at bytes is whole. */
static enum taken take_packet(struct trace *trace, const unsigned char *bytes,
			      const struct frame *frame)
{
	struct binary *binary = trace->reader;
	struct cursor cursor = binary->cursor;

	cursor.at = bytes + WIRE_HEADER_SIZE;
	cursor.end = bytes + frame->size;
	cursor.pool = &trace->scratch;
	cursor.frames = binary->frames;
	/* Strings live as long as the event: a call's arguments until its backtrace came. */
	if (!binary->has_call)
		pool_reset(&trace->scratch);
	return take(trace, frame->packet, &cursor);
}

static void count_unknown(struct trace *trace, const struct frame *frame)
{
	struct trace_tally *tally = &trace->tally;

	if (tally->unknown_packets++ == 0)
		for (int i = 0; i < 4; i++)
			tally->unknown_tag[i] = (char)(frame->tag >> 8 * i);
	tally->unknown_bytes += frame->size;
}

/* The packet is damaged; where the next one is, its size may still tell. */
static int step_over(struct trace *trace, const struct frame *frame, const char *what,
		     struct error *err)
{
	bool is_next;
	int rc = is_boundary(trace, frame->size, &is_next, err);

	if (rc)
		return rc;
	if (!is_next)
		return resynchronise(trace, what, err);
	trace_add_damage(trace, trace->source.offset, frame->size, "%s", what);
	source_skip(&trace->source, frame->size);
	return 0;
}

/* A newer writer's packet is between others; anything else is damage that looks like a tag. */
static int step_over_unknown(struct trace *trace, const struct frame *frame, struct error *err)
{
	bool is_next;
	int rc = is_boundary(trace, frame->size, &is_next, err);

	if (rc)
		return rc;
	if (!is_next)
		return resynchronise(trace, "no packet begins there", err);
	count_unknown(trace, frame);
	source_skip(&trace->source, frame->size);
	return 0;
}

/* Returns 1 with the trace's event, 0 to go on, or a negative errno. */
static int read_packet(struct trace *trace, const struct frame *frame, struct error *err)
{
	struct binary *binary = trace->reader;
	const char *tag = frame->kind == FRAME_PACKET ? tag_names[frame->packet] : "unknown";
	char what[64];
	enum taken taken;
	int rc = source_need(&trace->source, frame->size, err);

	if (rc)
		return rc;
	if (source_left(&trace->source) < frame->size) {
		snprintf(what, sizeof(what), "%s packet is longer than what is left", tag);
		return step_over_rest(trace, what, err);
	}
	if (frame->kind == FRAME_UNKNOWN)
		return step_over_unknown(trace, frame, err);
	trace->tally.packets++;
	taken = take_packet(trace, source_at(&trace->source), frame);
	if (taken == TAKEN_NO_MEMORY)
		return trace_no_memory(trace, err);
	if (taken == TAKEN_DAMAGED) {
		snprintf(what, sizeof(what), "contents of a %s packet are damaged", tag);
		return step_over(trace, frame, what, err);
	}
	binary->has_call = taken == TAKEN_CALL || (binary->has_call && taken == TAKEN_NOTHING);
	trace->tally.misplaced += taken == TAKEN_MISPLACED;
	source_skip(&trace->source, frame->size);
	return taken == TAKEN_EVENT;
}

/* What may follow a call before it is complete. */
static bool goes_on(const struct frame *frame)
{
	return frame->kind == FRAME_PACKET &&
	       (frame->packet == WIRE_PACKET_ARGS || frame->packet == WIRE_PACKET_BTRC);
}

/* The same results as read_packet(), and -ENODATA at the end. */
static int read_frame(struct trace *trace, const struct frame *frame, struct error *err)
{
	int rc;

	switch (frame->kind) {
	case FRAME_END:
		return -ENODATA;
	case FRAME_CUT:
		return step_over_rest(trace, "a packet is cut", err);
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
	return resynchronise(trace, "no packet begins there", err);
}

static int next_binary(struct trace *trace, const struct event **result, struct error *err)
{
	struct binary *binary = trace->reader;
	int rc = 0;

	while (rc == 0) {
		uint64_t damages = trace->tally.damages;
		struct frame frame;

		if (!binary->is_framing_known)
			rc = learn_framing(trace, err);
		if (rc == 0)
			rc = look(trace, 0, &frame, err);
		if (rc)
			return rc;
		if (!(binary->has_call && !goes_on(&frame))) {
			rc = read_frame(trace, &frame, err);
			/* What follows damage belongs to another call. */
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

/* packets that lie in memory */

/* A whole packet of a known tag at bytes. */
static bool frame_at(const struct trace *trace, const unsigned char *bytes, size_t left,
		     struct frame *frame)
{
	const struct binary *binary = trace->reader;
	struct cursor cursor = binary->cursor;
	uint32_t size;

	cursor.at = bytes;
	cursor.end = bytes + left;
	frame->tag = cursor_dword(&cursor);
	size = cursor_dword(&cursor);
	frame->size = size + WIRE_HEADER_SIZE;
	frame->kind = FRAME_PACKET;
	return !cursor.has_failed && size <= left - WIRE_HEADER_SIZE &&
	       find_tag(frame->tag, &frame->packet);
}

/* Returns 1 with the trace's event, 0 if there is none to see, or a negative errno. */
static int piece_ends(struct trace *trace, enum taken taken, struct error *err)
{
	struct binary *binary = trace->reader;

	if (taken == TAKEN_NO_MEMORY)
		return trace_no_memory(trace, err);
	if (binary->has_call) {
		binary->has_call = false;
		trace_finish_call(trace, &trace->event);
		return 1;
	}
	return taken == TAKEN_EVENT;
}

int read_binary_piece(struct trace *trace, const unsigned char *bytes, size_t size, uint64_t calls,
		      struct error *err)
{
	struct binary *binary = trace->reader;
	enum taken taken = TAKEN_NOTHING;
	struct frame frame;

	if (size && *bytes == WIRE_HANDSHAKE) {
		int rc = handshake_size(bytes, size) ? begin_stream(trace, bytes, err) : -EBADMSG;

		return rc == -EBADMSG ? error_set(err, EBADMSG, "has a damaged handshake")
		       : rc	      ? rc
				      : 1;
	}
	binary->index = calls;
	binary->has_call = false;
	for (; size && taken != TAKEN_EVENT; bytes += frame.size, size -= frame.size) {
		if (!trace->process || !frame_at(trace, bytes, size, &frame))
			taken = TAKEN_DAMAGED;
		else
			taken = take_packet(trace, bytes, &frame);
		if (taken == TAKEN_DAMAGED || taken == TAKEN_NO_MEMORY)
			break;
		trace->tally.packets++;
		binary->has_call =
			taken == TAKEN_CALL || (binary->has_call && taken == TAKEN_NOTHING);
	}
	if (taken == TAKEN_DAMAGED)
		trace_add_damage(trace, trace->source.offset, size,
				 "contents of a packet are damaged");
	return piece_ends(trace, taken, err);
}

int read_binary_begin(struct trace *trace, struct error *err)
{
	trace->reader = calloc(1, sizeof(struct binary));
	return trace->reader ? 0 : error_system(err, ENOMEM, "reader of packets");
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
	binary->is_framing_known = true; /* look() is for the handshake now */
	rc = source_need(&trace->source, 2, err);
	if (rc == 0 && source_left(&trace->source) >= 2)
		rc = source_need(&trace->source, source_at(&trace->source)[1] + 2u, err);
	if (rc)
		return rc;
	if (handshake_size(source_at(&trace->source), source_left(&trace->source)))
		return 0;
	if (source_left(&trace->source) < 2 ||
	    source_left(&trace->source) < source_at(&trace->source)[1] + 2u)
		return error_set(err, EBADMSG,
				 "ends inside its first packet, the handshake: "
				 "nothing was recorded");
	return error_set(err, EBADMSG,
			 "is no trace, or its first packet (the handshake) is damaged");
}
