/* SPDX-License-Identifier: MIT */
#ifndef FRAMING_H
#define FRAMING_H

/*
 * Divides a stream into packets and handshakes. Streams differ in byte order and in the position of
 * a packet's size: before version 2.0, the size precedes the tag. After damage, reading continues
 * at the next position that has a known packet followed by another packet. Only the reader of
 * packets includes this header.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/decode.h"
#include "trace/state.h"
#include "wire.h"

struct framing {
	uint32_t tags[WIRE_PACKET_COUNT];
	struct cursor cursor; /* initial state of each packet's cursor */
	bool is_size_first;
	bool is_document_order; /* CALL has the field order of BINARY_PROTOCOL, see
				   decode_plain_call() */
	bool is_known;		/* is_size_first and is_document_order are known for this stream */
};

/* The item at a position of the stream. */
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
	uint32_t size;	/* size in bytes, with the header */
	uint32_t aside; /* bytes of an OCFG packet before the packet that is hidden in it; 0: none
			   is hidden */
};

/* Sets the fields that have the same value for all streams. */
void framing_begin(struct framing *framing);

/* The tag of the packet for messages, or "unknown". */
const char *framing_tag(const struct frame *frame);

/* The size of the handshake that starts at `bytes`; 0: not a handshake. */
size_t framing_handshake_size(const unsigned char *bytes, size_t left);

/*
 * The following functions may read from the source. They return 0 or the source's negative errno.
 */

/* Classifies, by its header alone, the item `distance` bytes after the source's position. */
int framing_look(struct trace *trace, const struct framing *framing, size_t distance,
		 struct frame *frame, struct error *err);

/* Determines the framing of a stream older than version 2.0 from its first packet. */
int framing_learn(struct trace *trace, struct framing *framing, struct error *err);

/* Skips to the next readable item and records the damage. */
int framing_resynchronise(struct trace *trace, const struct framing *framing, const char *what,
			  struct error *err);

/*
 * Skips a packet that extends beyond the end of the input: the input was cut, or the packet's size
 * is wrong.
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
