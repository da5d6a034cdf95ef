/* SPDX-License-Identifier: MIT */
/*
 * Makes events of streams of sp-rtrace packets: a handshake, then packets, from the source or from
 * a block of a container. Three things vary: the position of the size (framing.h), the field order
 * of CALL (the 1.4 document's or sp-rtrace's) and the presence of our tails. A call is complete
 * when the next packet cannot belong to it.
 */
#include "trace/packets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* bytes: a handshake that framing_handshake_size() accepted. */
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

/* Returns 1 and sets the trace's event, 0 to continue, or a negative errno. */
static int read_packet(struct trace *trace, const struct frame *frame, struct error *err)
{
	struct binary *binary = trace->reader;
	char what[64];
	enum taken taken;
	int rc = source_need(&trace->source, frame->size, err);

	if (rc)
		return rc;
	if (source_left(&trace->source) < frame->size) {
		snprintf(what, sizeof(what), "%s packet is longer than what is left",
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
		snprintf(what, sizeof(what), "contents of a %s packet are damaged",
			 framing_tag(frame));
		return framing_step_over(trace, &binary->framing, frame, what, err);
	}
	binary->has_call = taken == TAKEN_CALL || (binary->has_call && taken == TAKEN_NOTHING);
	trace->tally.misplaced += taken == TAKEN_MISPLACED;
	source_skip(&trace->source, frame->size);
	return taken == TAKEN_EVENT;
}

/* True if the packet may belong to the pending call. */
static bool goes_on(const struct binary *binary, const struct frame *frame)
{
	return frame->kind == FRAME_PACKET &&
	       (frame->packet == WIRE_PACKET_ARGS ||
		(frame->packet == WIRE_PACKET_BTRC && !binary->has_backtrace));
}

/* Returns as read_packet(), and -ENODATA at the end. */
static int read_frame(struct trace *trace, const struct frame *frame, struct error *err)
{
	const struct binary *binary = trace->reader;
	int rc;

	switch (frame->kind) {
	case FRAME_END:
		return -ENODATA;
	case FRAME_CUT:
		return framing_step_over_rest(trace, &binary->framing, "a packet is cut", err);
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
	return framing_resynchronise(trace, &binary->framing, "no packet begins there", err);
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
		if (!(binary->has_call && !goes_on(binary, &frame))) {
			rc = read_frame(trace, &frame, err);
			/* Packets after damage belong to another call. */
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

/* packets in memory */

/* Returns 1 and sets the trace's event, 0 without an event, or a negative errno. */
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
		int rc = framing_handshake_size(bytes, size) ? begin_stream(trace, bytes, err)
							     : -EBADMSG;

		return rc == -EBADMSG ? error_set(err, EBADMSG, "has a damaged handshake")
		       : rc	      ? rc
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
				 "contents of a packet are damaged");
	return piece_ends(trace, taken, err);
}

int read_binary_begin(struct trace *trace, struct error *err)
{
	struct binary *binary = memory_zalloc(1, sizeof(*binary));

	if (!binary)
		return error_system(err, ENOMEM, "reader of packets");
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
	binary->framing.is_known = true; /* framing_look() looks only for the handshake now */
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
