/* SPDX-License-Identifier: MIT */
#ifndef FRAMING_H
#define FRAMING_H

/*
 * The stream as places where a packet or a handshake stands. Two things vary: where a packet's size
 * is (before 2.0 in front of the tag) and the byte order. Behind damage the next place is the one
 * that something known stands at, and that something known follows. Only the reader of packets
 * includes this.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/decode.h"
#include "trace/state.h"
#include "wire.h"

struct framing {
	uint32_t tags[WIRE_PACKET_COUNT];
	struct cursor cursor; /* what every packet's cursor begins as */
	bool is_size_first;
	bool is_document_order; /* CALL's fields are in */
	bool is_known;		/* what the two are in this stream */
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
	uint32_t size;	/* of everything */
	uint32_t aside; /* bytes before the packet that is meant, which are no part of it */
};

/* Fills what is the same for all streams. */
void framing_begin(struct framing *framing);

/* Its packet's tag for messages: "unknown" if nobody knows it. */
const char *framing_tag(const struct frame *frame);

/* The size of a handshake that begins at bytes, or 0 if it is none. */
size_t framing_handshake_size(const unsigned char *bytes, size_t left);

/*
 * The next functions return 0 or a negative errno: of the source, which they may have to ask for
 * more.
 */

/* What stands distance bytes ahead of the source's place. Never looks at contents. */
int framing_look(struct trace *trace, const struct framing *framing, size_t distance,
		 struct frame *frame, struct error *err);

/* Finds out how a stream before 2.0 is framed, by its first packet. */
int framing_learn(struct trace *trace, struct framing *framing, struct error *err);

/* Steps over what cannot be read to the next place that can, and notes it. */
int framing_resynchronise(struct trace *trace, const struct framing *framing, const char *what,
			  struct error *err);

/* A packet that is not whole: the input was cut there, or its size is wrong. */
int framing_step_over_rest(struct trace *trace, const struct framing *framing, const char *what,
			   struct error *err);

/* The packet is damaged; where the next one is, its size may still tell. */
int framing_step_over(struct trace *trace, const struct framing *framing, const struct frame *frame,
		      const char *what, struct error *err);

/* A newer writer's packet is between others; anything else is damage that looks like a tag. */
int framing_step_over_unknown(struct trace *trace, const struct framing *framing,
			      const struct frame *frame, struct error *err);

/* Of bytes in memory, without a source: true if a whole packet of a known tag is there. */
bool framing_at(const struct framing *framing, const unsigned char *bytes, size_t left,
		struct frame *frame);

#endif
