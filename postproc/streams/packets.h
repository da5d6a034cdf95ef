/* SPDX-License-Identifier: MIT */
#ifndef STREAMS_PACKETS_H
#define STREAMS_PACKETS_H

/*
 * Turns events back into packets: those of a collector that writes packets, byte for byte, in this
 * machine's byte order and pointer size.
 */

#include <stddef.h>
#include <stdint.h>

#include "collect/packet.h"
#include "trace/event.h"

struct packets {
	uint8_t *bytes; /* room for the packets of one event */
	size_t room;
	uint64_t frames[WIRE_FRAMES_MAX]; /* of its backtrace */
	bool has_asides; /* put what sp-rtrace's readers must not count aside (collect/aside.h) */
};

void packets_open(struct packets *packets, bool has_asides);
void packets_close(struct packets *packets);

/*
 * Makes the packets of an event in packets->bytes. Returns their size in bytes; 0: the event has
 * none.
 */
size_t packets_of(struct packets *packets, const struct event *event);

/* The CALL packet of a call, without the function's name. */
struct encode_packet_call packet_of_call(const struct event *event);

#endif
