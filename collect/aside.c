/* SPDX-License-Identifier: MIT */
#include "collect/aside.h"

#include <string.h>

#include "wire.h"

static uint32_t dword(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, 4);
	return value;
}

uint8_t *aside_wrap(uint8_t *from, uint8_t *end)
{
	while (from < end) {
		uint32_t size = dword(from + 4) + WIRE_HEADER_SIZE;
		const uint32_t head[WIRE_ASIDE_SIZE / 4] = {
			WIRE_TAG("OCFG"), WIRE_ASIDE_SIZE - WIRE_HEADER_SIZE + size
		};

		memmove(from + WIRE_ASIDE_SIZE, from, (size_t)(end - from));
		memcpy(from, head, sizeof(head));
		from += WIRE_ASIDE_SIZE + size;
		end += WIRE_ASIDE_SIZE;
	}
	return end;
}

const uint8_t *aside_packet(const uint8_t *bytes, size_t left)
{
	if (left < WIRE_ASIDE_SIZE + WIRE_HEADER_SIZE || dword(bytes) != WIRE_TAG("OCFG") ||
	    dword(bytes + 8) || dword(bytes + 12))
		return bytes;
	return bytes + WIRE_ASIDE_SIZE;
}
