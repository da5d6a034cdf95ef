/* SPDX-License-Identifier: MIT */
#ifndef STREAMS_PACKETS_H
#define STREAMS_PACKETS_H

/*
 * Events as the packets that said them: what the collector would have written, byte for byte, if
 * the collector wrote them. In the byte order and with the pointers of this machine.
 */

#include <stddef.h>
#include <stdint.h>

#include "collect/packet.h"
#include "trace/event.h"

struct packets {
	uint8_t *bytes; /* room for the packets of one event */
	size_t room;
	uint64_t frames[WIRE_FRAMES_MAX]; /* of its backtrace */
	bool has_asides; /* what readers of sp-rtrace must not count is put aside (collect/aside.h)
			  */
};

void packets_open(struct packets *packets, bool has_asides);
void packets_close(struct packets *packets);

/* Returns how many bytes the event's packets take; 0: it has none. */
size_t packets_of(struct packets *packets, const struct event *event);

/* CALL's packet of a call, its name left out. */
struct encode_packet_call packet_of_call(const struct event *event);

#endif
