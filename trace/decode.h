/* SPDX-License-Identifier: MIT */
#ifndef DECODE_H
#define DECODE_H

/*
 * Decodes the contents of packets according to the rows of wire.def. A cursor holds the position,
 * the end, the byte order and the pointer size of the contents. After the first failure, the cursor
 * stays failed. Every length is checked against the remaining bytes before it is used.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/pool.h"
#include "trace/state.h"
#include "wire.h"

#define DECODE_FRAMES_MAX    16384u
#define DECODE_ARGUMENTS_MAX 1024u

struct cursor {
	const unsigned char *at, *end;
	bool is_swapped; /* the stream does not have this machine's byte order */
	bool has_failed;
	uint8_t pointer_size; /* bytes of a pointer: 4 or 8 */
	struct pool *pool;    /* where strings and lists of values are allocated */
	uint64_t *frames;     /* buffer for addresses, of DECODE_FRAMES_MAX items */
};

enum decoded {
	DECODE_FAILED, /* the contents do not match the packet's rows */
	DECODE_FIELDS, /* only the fields of the protocol; tail members are 0 or "" */
	DECODE_TAIL,   /* the fields of the protocol and holdtrace's tail */
};

/* Bits of the parameter `absent`: bit i means that the packet lacks field i, as in old versions. */
#define ABSENT_PROCESS_DEPTH  (1u << 3) /* missing before version 1.2 */
#define ABSENT_RESOURCE_FLAGS (1u << 1) /* missing before version 1.3 */

/*
 * Declares decode_call(&cursor, absent, wants_tail, &packet) and so on, one function for each
 * PACKET of wire.def. Bytes that follow the known fields are ignored. The cursor is not moved.
 */
#define PACKET(name, tag, description)                                                            \
	enum decoded decode_##name(const struct cursor *cursor, unsigned absent, bool wants_tail, \
				   struct wire_##name *packet);
#include "wire.def"

/*
 * Decodes a CALL packet of a stream without tails. is_document_order: the fields have the order of
 * sp-rtrace's document BINARY_PROTOCOL (timestamp, resource, context, type, name, id, size), not
 * the order that sp-rtrace writes. The size has 8 bytes if the packet is long enough, otherwise 4.
 */
enum decoded decode_plain_call(struct cursor *cursor, bool is_document_order,
			       struct wire_call *packet);

static inline uint32_t cursor_dword(struct cursor *cursor)
{
	uint32_t value;

	if (cursor->end - cursor->at < 4) {
		cursor->has_failed = true;
		cursor->at = cursor->end;
		return 0;
	}
	memcpy(&value, cursor->at, 4);
	cursor->at += 4;
	return cursor->is_swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t cursor_qword(struct cursor *cursor)
{
	uint64_t value;

	if (cursor->end - cursor->at < 8) {
		cursor->has_failed = true;
		cursor->at = cursor->end;
		return 0;
	}
	memcpy(&value, cursor->at, 8);
	cursor->at += 8;
	return cursor->is_swapped ? __builtin_bswap64(value) : value;
}

/* ---- packets in a stream ---- */

/*
 * Divides a stream into items: packets and handshakes. Streams differ in byte order and in the
 * position of a packet's size: before version 2.0, the size precedes the tag. After damage, reading
 * continues at the next position that has a packet with a known tag, followed by another packet.
 */

struct framing {
	uint32_t tags[WIRE_PACKET_COUNT];
	struct cursor cursor; /* initial state of each packet's cursor */
	bool is_size_first;
	bool is_document_order; /* CALL has the field order of BINARY_PROTOCOL, see
				   decode_plain_call() */
	bool is_known;		/* is_size_first and is_document_order are known for this stream */
};

/* What is at a position of the stream. */
enum frame_kind {
	FRAME_END, /* the input ends here */
	FRAME_CUT, /* the input ends here, inside an item */
	FRAME_HANDSHAKE,
	FRAME_PACKET,  /* a packet with a known tag */
	FRAME_UNKNOWN, /* a plausible packet with an unknown tag */
	FRAME_DAMAGED,
};

struct frame {
	enum frame_kind kind;
	enum wire_packet packet;
	uint32_t tag;
	uint32_t size; /* size in bytes, with the header */
	/* bytes of an OCFG packet before the packet that is hidden in it; 0: no packet is hidden */
	uint32_t aside;
};

/* Sets the members that have the same value for all streams. */
void framing_begin(struct framing *framing);

/* Returns the tag of the packet as a text for messages, or "unknown". */
const char *framing_tag(const struct frame *frame);

/* Returns the size of the handshake that starts at `bytes`, or 0 if it is not a handshake. */
size_t framing_handshake_size(const unsigned char *bytes, size_t left);

/*
 * The following functions may read from the source. They return 0 or the source's negative errno.
 */

/* Classifies the item `distance` bytes after the source's position, from its header alone. */
int framing_look(struct trace *trace, const struct framing *framing, size_t distance,
		 struct frame *frame, struct error *err);

/* Sets is_size_first and is_document_order of a stream before version 2.0, by its first packet. */
int framing_learn(struct trace *trace, struct framing *framing, struct error *err);

/* Skips to the next readable item, and records the skipped bytes as damage with the text `what`. */
int framing_resynchronise(struct trace *trace, const struct framing *framing, const char *what,
			  struct error *err);

/*
 * Skips a packet that extends beyond the end of the input, because the input was cut or the
 * packet's size is wrong.
 */
int framing_step_over_rest(struct trace *trace, const struct framing *framing, const char *what,
			   struct error *err);

/* Skips a damaged packet and, if no packet follows it, all bytes up to the next readable item. */
int framing_step_over(struct trace *trace, const struct framing *framing, const struct frame *frame,
		      const char *what, struct error *err);

/*
 * Skips a packet with an unknown tag. If a plausible item follows, the packet counts as one of a
 * newer version, otherwise as damage.
 */
int framing_step_over_unknown(struct trace *trace, const struct framing *framing,
			      const struct frame *frame, struct error *err);

/*
 * Classifies an item that is in memory, not in the source. Returns true if `bytes` start with a
 * whole packet that has a known tag.
 */
bool framing_at(const struct framing *framing, const unsigned char *bytes, size_t left,
		struct frame *frame);

#endif
