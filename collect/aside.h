/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_ASIDE_H
#define COLLECT_ASIDE_H

/*
 * Packets that readers of sp-rtrace must not count: they would list events that neither acquire nor
 * release an object as leaks, and add them up. Such a packet is hidden after the two empty strings
 * of an OCFG packet, which every reader skips; trace/framing.c finds it there.
 */

#include <stddef.h>
#include <stdint.h>

/*
 * Wraps each packet from `from` to `end`, in place; needs WIRE_ASIDE_SIZE further bytes for each.
 * Returns the new end.
 */
uint8_t *aside_wrap(uint8_t *from, uint8_t *end);

/* The packet inside the packet at bytes (`left` bytes follow), or bytes itself. */
const uint8_t *aside_packet(const uint8_t *bytes, size_t left);

#endif
