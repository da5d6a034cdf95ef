/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_ASIDE_H
#define COLLECT_ASIDE_H

/*
 * Hides packets from programs that read the sp-rtrace format. Otherwise these programs would report
 * as leaks those events that neither acquire nor release an object, and add up their sizes. A
 * hidden packet follows the two empty strings of an OCFG packet, which every such program skips;
 * trace/framing.c finds the hidden packet there.
 */

#include <stddef.h>
#include <stdint.h>

/*
 * Wraps each packet from `from` to `end` in place. The buffer must have room for WIRE_ASIDE_SIZE
 * further bytes for each packet. Returns the new end.
 */
uint8_t *aside_wrap(uint8_t *from, uint8_t *end);

/*
 * If the packet at `bytes` is an OCFG packet that hides another packet, returns the hidden packet;
 * otherwise returns `bytes`. `left`: number of bytes from `bytes` to the end of the buffer.
 */
const uint8_t *aside_packet(const uint8_t *bytes, size_t left);

#endif
