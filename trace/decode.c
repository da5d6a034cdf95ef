/* SPDX-License-Identifier: MIT */
#include "trace/decode.h"

#include <string.h>

static inline uint64_t cursor_pointer(struct cursor *cursor)
{
	return cursor->pointer_size == 8 ? cursor_qword(cursor) : cursor_dword(cursor);
}

static inline struct wire_flags cursor_flags(struct cursor *cursor)
{
	struct wire_flags flags = { 0 };

	if (cursor->end - cursor->at < 4) {
		cursor->has_failed = true;
		return flags;
	}
	flags.operation = cursor->at[0];
	flags.moment = cursor->at[1];
	flags.part = cursor->at[2];
	flags.bits = cursor->at[3];
	cursor->at += 4;
	return flags;
}

/*
 * sp-rtrace counts the padding in the length of a string, contrary to its document. This function
 * reads both forms: it drops trailing NULs and continues at the next multiple of 4.
 */
static inline __attribute__((always_inline)) const char *cursor_string(struct cursor *cursor)
{
	size_t left = (size_t)(cursor->end - cursor->at), length, whole;
	const char *text = (const char *)cursor->at + 2;
	uint16_t word;
	char *copy;

	if (left < 2)
		goto failed;
	memcpy(&word, cursor->at, 2);
	length = cursor->is_swapped ? __builtin_bswap16(word) : word;
	if (length > left - 2)
		goto failed;
	whole = (2 + length + 3) & ~(size_t)3;
	cursor->at += whole < left ? whole : left;
	copy = pool_text(cursor->pool, text, strnlen(text, length));
	if (copy)
		return copy;
failed:
	cursor->has_failed = true;
	cursor->at = cursor->end;
	return "";
}

static struct wire_values cursor_values(struct cursor *cursor)
{
	struct wire_values values = { 0 };
	uint32_t count = cursor_dword(cursor);
	struct wire_value *items;

	/* A pair takes at least 8 bytes; the last pair takes 6 if its padding is missing. */
	if (count > DECODE_ARGUMENTS_MAX || count > (size_t)(cursor->end - cursor->at) / 6) {
		cursor->has_failed = true;
		return values;
	}
	items = pool_alloc(cursor->pool, count * sizeof(*items));
	if (!items) {
		cursor->has_failed = true;
		return values;
	}
	for (uint32_t i = 0; i < count; i++) {
		items[i].name = cursor_string(cursor);
		items[i].value = cursor_string(cursor);
	}
	values.count = count;
	values.items = items;
	return values;
}

static struct wire_addresses cursor_addresses(struct cursor *cursor)
{
	struct wire_addresses addresses = { 0, cursor->frames };
	uint32_t count = cursor_dword(cursor);

	if (count > DECODE_FRAMES_MAX ||
	    count > (size_t)(cursor->end - cursor->at) / cursor->pointer_size) {
		cursor->has_failed = true;
		return addresses;
	}
	addresses.count = count;
	if (cursor->pointer_size == 8 && !cursor->is_swapped) {
		memcpy(cursor->frames, cursor->at, count * sizeof(uint64_t));
		cursor->at += count * sizeof(uint64_t);
		return addresses;
	}
	for (uint32_t i = 0; i < count; i++)
		cursor->frames[i] = cursor_pointer(cursor);
	return addresses;
}

#define UNSET_dword	(0)
#define UNSET_qword	(0)
#define UNSET_pointer	(0)
#define UNSET_string	("")
#define UNSET_flags	((struct wire_flags){ 0 })
#define UNSET_values	((struct wire_values){ 0 })
#define UNSET_addresses ((struct wire_addresses){ 0 })

/* Decodes the fields of the protocol. */
#define PACKET(name, tag, description)                                              \
	static inline bool fields_of_##name(struct cursor *cursor, unsigned absent, \
					    struct wire_##name *packet)             \
	{                                                                           \
		unsigned field = 0;
#define FIELD(kind, name, description) \
	packet->name = absent >> field++ & 1 ? UNSET_##kind : cursor_##kind(cursor);
#define PACKET_END(name)            \
	(void)field;                \
	return !cursor->has_failed; \
	}
#include "wire.def"

/* Decodes holdtrace's tail. */
#define PACKET(name, tag, description)                                                       \
	static inline bool tail_of_##name(struct cursor *cursor, struct wire_##name *packet) \
	{                                                                                    \
		const unsigned char *start = cursor->at;                                     \
		(void)packet;
#define TAIL(kind, name, description) packet->name = cursor_##kind(cursor);
#define PACKET_END(name)                                   \
	return !cursor->has_failed && cursor->at != start; \
	}
#include "wire.def"

/* Sets the tail members of a packet that has no tail. */
#define PACKET(name, tag, description)                                   \
	static inline void no_tail_of_##name(struct wire_##name *packet) \
	{                                                                \
		(void)packet;
#define TAIL(kind, name, description) packet->name = UNSET_##kind;
#define PACKET_END(name)	      }
#include "wire.def"

/* Decodes a packet with a copy of the cursor, which the compiler can keep in registers. */
#define PACKET(name, tag, description)                                                            \
	enum decoded decode_##name(const struct cursor *cursor, unsigned absent, bool wants_tail, \
				   struct wire_##name *packet)                                    \
	{                                                                                         \
		struct cursor here = *cursor;                                                     \
                                                                                                  \
		if (!fields_of_##name(&here, absent, packet))                                     \
			return DECODE_FAILED;                                                     \
		if (wants_tail && tail_of_##name(&here, packet))                                  \
			return DECODE_TAIL;                                                       \
		no_tail_of_##name(packet);                                                        \
		return DECODE_FIELDS;                                                             \
	}
#include "wire.def"

enum decoded decode_plain_call(struct cursor *cursor, bool is_document_order,
			       struct wire_call *packet)
{
	uint32_t words[3] = { cursor_dword(cursor), 0, 0 };
	size_t size_bytes;

	words[1] = cursor_dword(cursor);
	words[2] = cursor_dword(cursor);
	packet->timestamp = words[is_document_order ? 0 : 2];
	packet->resource = words[is_document_order ? 1 : 0];
	packet->context = words[is_document_order ? 2 : 1];
	packet->type = cursor_dword(cursor);
	packet->function = cursor_string(cursor);
	no_tail_of_call(packet);
	size_bytes = (size_t)(cursor->end - cursor->at) >= cursor->pointer_size + 8u ? 8 : 4;
	if (is_document_order)
		packet->object = cursor_pointer(cursor);
	packet->bytes = size_bytes == 8 ? cursor_qword(cursor) : cursor_dword(cursor);
	packet->size = (uint32_t)packet->bytes;
	if (!is_document_order)
		packet->object = cursor_pointer(cursor);
	return cursor->has_failed ? DECODE_FAILED : DECODE_FIELDS;
}

/* ---- packets in a stream: found by their headers alone, also after damage ---- */

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
 * Returns the size of the handshake that starts a further stream. Returns 0, which the caller
 * treats as damage, if `bytes` is not a handshake of a readable version.
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
 * All readers skip OCFG packets. So holdtrace uses an OCFG packet to hide another packet, which
 * sp-rtrace's readers must not count: the hidden packet follows two empty strings. If there is one,
 * changes *frame to it. at: the OCFG packet, at least up to the end of the hidden packet's header.
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

/* Classifies an item that has the first byte of a handshake. Returns 1 if it is a handshake. */
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
		/* if first < 4, the size wraps around, and the check below rejects it */
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

int framing_resynchronise(struct trace *trace, const struct framing *framing, const char *what,
			  struct error *err)
{
	struct source *source = &trace->source;
	uint64_t start = source->offset;
	bool is_found = false;

	do {
		struct frame frame = { 0 };
		int rc = source_need(source, 1, err);

		if (rc)
			return rc;
		if (source_left(source) == 0)
			break;
		source_skip(source, 1);
		rc = framing_look(trace, framing, 0, &frame, err);
		/* accepts a handshake, or a packet with a known tag, if another item follows */
		if (rc == 0 && (frame.kind == FRAME_PACKET || frame.kind == FRAME_HANDSHAKE))
			rc = is_boundary(trace, framing, frame.size, &is_found, err);
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
 * the tag first. Therefore, a 1.x stream that puts the tag first comes from a program that follows
 * the document, and its CALL packets have the document's field order, too.
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
