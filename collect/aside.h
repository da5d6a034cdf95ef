/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_ASIDE_H
#define COLLECT_ASIDE_H

/*
 * Packets that readers of sp-rtrace must not count: events that neither gain nor lose anything
 * stand in its list of leaks and in its sums. They go behind the two empty strings of an OCFG,
 * which every reader steps over; trace/framing.c finds them there.
 */

#include <stddef.h>
#include <stdint.h>

/* Wraps each packet from `from` to `end`; room: WIRE_ASIDE_SIZE for each. Returns the new end. */
uint8_t *aside_wrap(uint8_t *from, uint8_t *end);

/* The packet inside the packet at bytes, of which there are `left`; or bytes itself. */
const uint8_t *aside_packet(const uint8_t *bytes, size_t left);

#endif
