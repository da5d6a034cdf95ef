/* SPDX-License-Identifier: MIT */
#include "collect/packet.h"

#include <stdio.h>

#include "collect/htr.h"

/* maximum bytes of a value's name; names of hooks' arguments are much shorter */
#define VALUE_NAME_MAX 48
#define PACKET_MAX     (WIRE_PACKET_MAX - WIRE_ASIDE_SIZE)
/* a longer text is divided into parts of this many bytes; a part with its name fits a packet */
#define PART_MAX 3900

void values_end(struct values *values)
{
	if (values->htr)
		htr_arguments_end(values->htr);
	if (!values->packet)
		return;
	put_dword(values->packet + 4, (uint32_t)(values->at - values->packet) - WIRE_HEADER_SIZE);
	put_dword(values->packet + WIRE_HEADER_SIZE, values->count);
	values->packet = NULL;
}

void values_put(struct values *values, const char *name, size_t name_length, const char *value,
		size_t length)
{
	size_t size = name_length + length + 12;
	uint32_t *known = values->known, number;

	if (values->htr) {
		if (!known || !*known)
			number = htr_argument_name(values->htr, name, name_length) + 1;
		else
			number = *known;
		if (known)
			*known = number;
		htr_argument(values->htr, number - 1, value, length);
		return;
	}
	if ((size_t)(values->end - values->at) < WIRE_PACKET_MAX + 64)
		return;
	if (values->packet && (size_t)(values->at - values->packet) + size > PACKET_MAX)
		values_end(values);
	if (!values->packet) {
		values->packet = values->at;
		values->at = put_dword(values->at, WIRE_TAG("ARGS")) + 8;
		values->count = 0;
	}
	values->at += lay_out(values->at, name, name_length);
	values->at += lay_out(values->at, value, length);
	values->count++;
}

void values_put_text(struct values *values, const char *name, const char *value, size_t length)
{
	char part[VALUE_NAME_MAX + 16];
	size_t name_length = strnlen(name, VALUE_NAME_MAX);

	values_put(values, name, name_length, value, length < PART_MAX ? length : PART_MAX);
	values->known = NULL;
	for (unsigned number = 1; length > PART_MAX; number++) {
		int size = snprintf(part, sizeof(part), "%.*s+%u", VALUE_NAME_MAX, name, number);

		value += PART_MAX;
		length -= PART_MAX;
		values_put(values, part, (size_t)size, value,
			   length < PART_MAX ? length : PART_MAX);
	}
}

/* ---- hidden packets ---- */

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
