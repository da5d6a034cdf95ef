/* SPDX-License-Identifier: MIT */
/* Finds packets and handshakes in a stream, also after damage, by their headers alone. */
#include "trace/framing.h"

#include <string.h>

static const char tag_names[WIRE_PACKET_COUNT][5] = {
#define PACKET(name, tag, description) #tag,
#include "wire.def"
};

static inline bool find_tag(const struct framing *framing, uint32_t tag, enum wire_packet *packet)
{
	/* Most packets are CALL or BTRC. */
	*packet = tag == framing->tags[WIRE_PACKET_CALL] ? WIRE_PACKET_CALL : WIRE_PACKET_BTRC;
	if (framing->tags[*packet] == tag)
		return true;
	for (unsigned i = 0; i < WIRE_PACKET_COUNT; i++) {
		if (framing->tags[i] == tag) {
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

size_t framing_handshake_size(const unsigned char *bytes, size_t left)
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
 * The size of the handshake that starts a further stream. Returns 0, which the caller treats as
 * damage, for anything but a handshake of a readable version.
 */
static size_t next_handshake_size(const unsigned char *bytes, size_t left)
{
	size_t size = framing_handshake_size(bytes, left);

	if (size == 0 || bytes[2] < 1 || bytes[2] > WIRE_MAJOR)
		return 0;
	for (size_t i = 0; i < bytes[4]; i++)
		if (bytes[5 + i] <= 0x20 || bytes[5 + i] >= 0x7f)
			return 0;
	return size;
}

static uint32_t get_dword(const struct framing *framing, const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return framing->cursor.is_swapped ? __builtin_bswap32(value) : value;
}

/*
 * All readers skip OCFG packets. After two empty strings in an OCFG packet, holdtrace hides a
 * packet that sp-rtrace's readers must not count. Changes *frame to the hidden packet if there is
 * one. at: WIRE_ASIDE_SIZE bytes and the header of the hidden packet.
 */
static void look_aside(const struct framing *framing, const unsigned char *at, struct frame *frame)
{
	uint32_t tag = get_dword(framing, at + WIRE_ASIDE_SIZE);
	uint32_t size = get_dword(framing, at + WIRE_ASIDE_SIZE + 4);
	enum wire_packet packet;

	if (framing->is_size_first || get_dword(framing, at + 8) || get_dword(framing, at + 12) ||
	    !find_tag(framing, tag, &packet) ||
	    frame->size != (uint64_t)size + WIRE_HEADER_SIZE + WIRE_ASIDE_SIZE)
		return;
	if (packet != WIRE_PACKET_CALL && packet != WIRE_PACKET_ARGS &&
	    packet != WIRE_PACKET_BTRC && packet != WIRE_PACKET_RESR)
		return;
	frame->tag = tag;
	frame->packet = packet;
	frame->aside = WIRE_ASIDE_SIZE;
}

static bool may_hold(const struct frame *frame)
{
	return frame->kind == FRAME_PACKET && frame->packet == WIRE_PACKET_OCFG &&
	       frame->size >= WIRE_ASIDE_SIZE + WIRE_HEADER_SIZE;
}

/*
 * Classifies an item that starts with the first byte of a handshake. Returns 1 if it is a
 * handshake.
 */
static int look_at_handshake(struct trace *trace, size_t distance, struct frame *frame,
			     struct error *err)
{
	const struct source *source = &trace->source;
	const unsigned char *at = source_at(source) + distance;
	size_t left = source_left(source) - distance;
	int rc = left < 2 ? 0 : source_need(&trace->source, distance + 2 + at[1], err);

	if (left < 2 || rc)
		return rc;
	left = source_left(source) - distance;
	at = source_at(source) + distance;
	frame->size = (uint32_t)(trace->process ? next_handshake_size(at, left)
						: framing_handshake_size(at, left));
	frame->kind = FRAME_HANDSHAKE;
	return frame->size != 0;
}

int framing_look(struct trace *trace, const struct framing *framing, size_t distance,
		 struct frame *frame, struct error *err)
{
	const struct source *source = &trace->source;
	int rc = source_need(&trace->source, distance + WIRE_HEADER_SIZE, err);
	const unsigned char *at;
	uint32_t size;

	if (rc)
		return rc;
	if (source_left(source) <= distance) {
		frame->kind = source_left(source) == distance ? FRAME_END : FRAME_CUT;
		return 0;
	}
	if (source_at(source)[distance] == WIRE_HANDSHAKE) {
		rc = look_at_handshake(trace, distance, frame, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	if (source_left(source) - distance < WIRE_HEADER_SIZE) {
		frame->kind = FRAME_CUT;
		return 0;
	}
	at = source_at(source) + distance;
	size = get_dword(framing, at + 4);
	frame->tag = get_dword(framing, at);
	if (framing->is_size_first) {
		uint32_t first = frame->tag;

		frame->tag = size;
		/* if first < 4, this wraps around and the check below rejects it */
		size = first - 4;
	}
	frame->size = size + WIRE_HEADER_SIZE;
	frame->aside = 0;
	frame->kind = find_tag(framing, frame->tag, &frame->packet) ? FRAME_PACKET : FRAME_UNKNOWN;
	if (size > WIRE_READ_MAX || size % 4 != 0 ||
	    (frame->kind == FRAME_UNKNOWN && !is_tag_like(frame->tag)))
		frame->kind = FRAME_DAMAGED;
	if (!may_hold(frame))
		return 0;
	rc = source_need(&trace->source, distance + WIRE_ASIDE_SIZE + WIRE_HEADER_SIZE, err);
	if (rc == 0 && source_left(source) - distance >= WIRE_ASIDE_SIZE + WIRE_HEADER_SIZE)
		look_aside(framing, source_at(source) + distance, frame);
	return rc;
}

/*
 * Sets *answer to true if a packet could end `distance` bytes after the source's position: the
 * input ends there, or a plausible item starts there.
 */
static int is_boundary(struct trace *trace, const struct framing *framing, size_t distance,
		       bool *answer, struct error *err)
{
	struct frame frame = { 0 };
	int rc = framing_look(trace, framing, distance, &frame, err);

	*answer = frame.kind == FRAME_END || frame.kind == FRAME_HANDSHAKE ||
		  frame.kind == FRAME_PACKET || frame.kind == FRAME_UNKNOWN;
	return rc;
}

/*
 * Sets *answer to true if a handshake or a whole packet with a known tag starts at the source's
 * position.
 */
static int is_plausible(struct trace *trace, const struct framing *framing, bool *answer,
			struct error *err)
{
	struct frame frame = { 0 };
	int rc = framing_look(trace, framing, 0, &frame, err);

	*answer = false;
	if (rc || (frame.kind != FRAME_PACKET && frame.kind != FRAME_HANDSHAKE))
		return rc;
	return is_boundary(trace, framing, frame.size, answer, err);
}

int framing_resynchronise(struct trace *trace, const struct framing *framing, const char *what,
			  struct error *err)
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
		rc = is_plausible(trace, framing, &is_found, err);
		if (rc)
			return rc;
	} while (!is_found);
	trace_add_damage(trace, start, source->offset - start, "%s", what);
	return 0;
}

int framing_step_over_rest(struct trace *trace, const struct framing *framing, const char *what,
			   struct error *err)
{
	int rc = framing_resynchronise(trace, framing, what, err);

	if (rc == 0 && source_left(&trace->source) == 0)
		trace->tally.is_truncated = true;
	return rc;
}

int framing_step_over(struct trace *trace, const struct framing *framing, const struct frame *frame,
		      const char *what, struct error *err)
{
	bool is_next;
	int rc = is_boundary(trace, framing, frame->size, &is_next, err);

	if (rc)
		return rc;
	if (!is_next)
		return framing_resynchronise(trace, framing, what, err);
	trace_add_damage(trace, trace->source.offset, frame->size, "%s", what);
	source_skip(&trace->source, frame->size);
	return 0;
}

int framing_step_over_unknown(struct trace *trace, const struct framing *framing,
			      const struct frame *frame, struct error *err)
{
	struct trace_tally *tally = &trace->tally;
	bool is_next;
	int rc = is_boundary(trace, framing, frame->size, &is_next, err);

	if (rc)
		return rc;
	if (!is_next)
		return framing_resynchronise(trace, framing, "no packet starts there", err);
	if (tally->unknown_packets++ == 0)
		for (int i = 0; i < 4; i++)
			tally->unknown_tag[i] = (char)(frame->tag >> 8 * i);
	tally->unknown_bytes += frame->size;
	source_skip(&trace->source, frame->size);
	return 0;
}

/*
 * Before 2.0, sp-rtrace wrote the size before the tag, although its document (BINARY_PROTOCOL) puts
 * the tag first. A 1.x stream with the tag first therefore comes from a program that follows the
 * document, so its CALL packets have the document's field order, too.
 */
int framing_learn(struct trace *trace, struct framing *framing, struct error *err)
{
	struct frame frame;
	int rc = framing_look(trace, framing, 0, &frame, err);

	if (rc)
		return rc;
	if (frame.kind != FRAME_PACKET) {
		framing->is_size_first = true;
		rc = framing_look(trace, framing, 0, &frame, err);
		if (rc)
			return rc;
		framing->is_size_first = frame.kind == FRAME_PACKET;
	}
	framing->is_document_order = !framing->is_size_first;
	framing->is_known = true;
	return 0;
}

bool framing_at(const struct framing *framing, const unsigned char *bytes, size_t left,
		struct frame *frame)
{
	struct cursor cursor = framing->cursor;
	uint32_t size;

	cursor.at = bytes;
	cursor.end = bytes + left;
	frame->tag = cursor_dword(&cursor);
	size = cursor_dword(&cursor);
	frame->size = size + WIRE_HEADER_SIZE;
	frame->aside = 0;
	frame->kind = FRAME_PACKET;
	if (cursor.has_failed || size > left - WIRE_HEADER_SIZE ||
	    !find_tag(framing, frame->tag, &frame->packet))
		return false;
	if (may_hold(frame))
		look_aside(framing, bytes, frame);
	return true;
}

const char *framing_tag(const struct frame *frame)
{
	return frame->kind == FRAME_PACKET ? tag_names[frame->packet] : "unknown";
}

void framing_begin(struct framing *framing)
{
	for (unsigned i = 0; i < WIRE_PACKET_COUNT; i++)
		framing->tags[i] = WIRE_TAG(tag_names[i]);
}
