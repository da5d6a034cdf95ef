/* SPDX-License-Identifier: MIT */
#ifndef PACKETS_H
#define PACKETS_H

/*
 * The contents of packets: packets.c makes events of them, read_binary.c finds packets and
 * completes calls. Only these two include this.
 */

#include <stdbool.h>
#include <stdint.h>

#include "trace/decode.h"
#include "trace/framing.h"
#include "trace/state.h"

#define PACKETS_NAMES 64u /* a power of 2 */

/* The reader of a trace that contains packets. */
struct binary {
	struct framing framing;
	bool has_tails;
	bool has_call; /* the trace's event is a call that awaits its arguments and backtrace */
	bool has_backtrace; /* the call already has its backtrace */
	uint64_t index;	    /* of the last call */
	/* recently used functions, hashed by the first bytes of their names */
	const struct function *names[PACKETS_NAMES];
	unsigned absent_process, absent_resource;
	struct wire_value arguments[DECODE_ARGUMENTS_MAX]; /* of the call */
	uint64_t frames[DECODE_FRAMES_MAX];
};

/* The result of decoding a packet. */
enum taken {
	TAKEN_EVENT,   /* the trace's event is ready */
	TAKEN_CALL,    /* the trace's event is a call, which later packets may complete */
	TAKEN_NOTHING, /* no event */
	TAKEN_MISPLACED,
	TAKEN_DAMAGED,
	TAKEN_NO_MEMORY,
};

/* Decodes the packet at bytes, which is whole. */
enum taken packets_take(struct trace *trace, const unsigned char *bytes, const struct frame *frame);

#endif
