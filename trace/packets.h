/* SPDX-License-Identifier: MIT */
#ifndef PACKETS_H
#define PACKETS_H

/*
 * What is in packets: shared by packets.c, which makes events of them, and read_binary.c, which
 * knows where each stands and when a call is complete. Nobody else includes this.
 */

#include <stdbool.h>
#include <stdint.h>

#include "trace/decode.h"
#include "trace/framing.h"
#include "trace/state.h"

#define PACKETS_NAMES 64u /* a power of 2 */

/* A trace's reader, if the trace is packets or has some. */
struct binary {
	struct framing framing;
	bool has_tails;
	bool has_call;	    /* the trace's event waits for its arguments and backtrace */
	bool has_backtrace; /* and has the latter already */
	uint64_t index;	    /* of the last call */
	/* found last, by the first bytes of their names */
	const struct function *names[PACKETS_NAMES];
	unsigned absent_process, absent_resource;
	struct wire_value arguments[DECODE_ARGUMENTS_MAX]; /* of the call */
	uint64_t frames[DECODE_FRAMES_MAX];
};

/* What decoding a packet came to. */
enum taken {
	TAKEN_EVENT,   /* the trace's event is ready */
	TAKEN_CALL,    /* the trace's event is a call that may go on */
	TAKEN_NOTHING, /* nothing that a user would see */
	TAKEN_MISPLACED,
	TAKEN_DAMAGED,
	TAKEN_NO_MEMORY,
};

/* Takes the packet at bytes, which is whole. */
enum taken packets_take(struct trace *trace, const unsigned char *bytes, const struct frame *frame);

#endif
