/* SPDX-License-Identifier: MIT */
#ifndef STREAMS_PACKETS_H
#define STREAMS_PACKETS_H

/*
 * Converts events back to packets. The result equals the original packets byte for byte, if a
 * collector wrote these on a machine with the same byte order and pointer size.
 */

#include <stddef.h>
#include <stdint.h>

#include "collect/packet.h"
#include "trace/event.h"

struct packets {
	uint8_t *bytes; /* buffer for the packets of one event */
	size_t room;
	uint64_t frames[WIRE_FRAMES_MAX]; /* frames of the event's backtrace */
	bool has_asides; /* hide events that sp-rtrace's tools must not count (collect/packet.h) */
};

void packets_open(struct packets *packets, bool has_asides);
void packets_close(struct packets *packets);

/*
 * Writes the packets of an event to packets->bytes. Returns their size in bytes, or 0 if the event
 * has no packet.
 */
size_t packets_of(struct packets *packets, const struct event *event);

/* Returns the CALL packet of a call, without the name of its function. */
struct encode_packet_call packet_of_call(const struct event *event);

#endif
