/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_PACKET_H
#define COLLECT_PACKET_H

/*
 * Functions that write the packets of wire.def: put_call(at, &packet, tails) and so on. Each writes
 * its packet at `at` and returns the end. The caller must make sure that there is enough room.
 * Other functions write the named values of a call, and packets that are hidden from other tools.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire.h"

/* a string of up to this size is always copied as this many bytes, by two vector moves */
#define PACKET_NAME_COPY 32
#define inline_		 static inline __attribute__((always_inline))

/* A string in its encoded form: length, text, padding. */
struct wire_text {
	const void *bytes;
	uint32_t size;
};

/* The structs of the packets, with strings in encoded form. */
typedef uint32_t encode_dword;
typedef uint64_t encode_qword;
typedef uint64_t encode_pointer;
typedef struct wire_text encode_string;
typedef struct wire_flags encode_flags;
typedef struct wire_values encode_values;
typedef struct wire_addresses encode_addresses;

#define PACKET(name, tag, description) struct encode_packet_##name {
#define FIELD(kind, name, description) encode_##kind name;
#define TAIL(kind, name, description)  encode_##kind name;
#define PACKET_END(name) \
	}                \
	;
#include "wire.def"

/* ---- fields ---- */

inline_ uint8_t *put_dword(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, 4);
	return at + 4;
}

inline_ uint8_t *put_qword(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, 8);
	return at + 8;
}

inline_ uint8_t *put_pointer(uint8_t *at, uint64_t value)
{
	uintptr_t native = (uintptr_t)value;

	memcpy(at, &native, sizeof(native));
	return at + sizeof(native);
}

inline_ uint8_t *put_flags(uint8_t *at, struct wire_flags value)
{
	memcpy(at, &value, 4);
	return at + 4;
}

/* Copies a short string with a fixed size, which is faster; the next field overwrites the rest. */
inline_ uint8_t *put_string(uint8_t *at, struct wire_text text)
{
	if (__builtin_expect(text.size <= PACKET_NAME_COPY, 1))
		memcpy(at, text.bytes, PACKET_NAME_COPY);
	else
		memcpy(at, text.bytes, text.size);
	return at + text.size;
}

/* Writes only the number of values; the caller writes the values. */
inline_ uint8_t *put_values(uint8_t *at, struct wire_values values)
{
	return put_dword(at, values.count);
}

inline_ uint8_t *put_addresses(uint8_t *at, struct wire_addresses addresses)
{
	const uint64_t *item = addresses.items;
	uint32_t left = addresses.count;

	at = put_dword(at, left);
	/* copies inline: for so few bytes, calling memcpy() costs more than the copy */
	for (; sizeof(uintptr_t) == 8 && left >= 4; left -= 4, item += 4, at += 32)
		memcpy(at, item, 32);
	for (; left; left--)
		at = put_pointer(at, *item++);
	return at;
}

/*
 * Encodes a text as a string of a packet, and returns the size of the encoded string. `to` must
 * have room for the length, rounded up to a multiple of 4, plus 4. The function that writes the
 * packet may read PACKET_NAME_COPY bytes of `to`, even if the string is shorter.
 */
static inline uint32_t lay_out(uint8_t *to, const char *text, size_t length)
{
	uint32_t size;

	if (length > WIRE_STRING_MAX)
		length = WIRE_STRING_MAX;
	size = (uint32_t)(length + 2 + 3) & ~3u;
	/* "" is encoded as length 2 and two NULs, since length 0 means that there is no string */
	if (size < 4)
		size = 4;
	memset(to + size - 4, 0, 4);
	to[0] = (uint8_t)(size - 2);
	to[1] = (uint8_t)((size - 2) >> 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	to[0] = (uint8_t)((size - 2) >> 8);
	to[1] = (uint8_t)(size - 2);
#endif
	memcpy(to + 2, text, length);
	return size;
}

/* ---- packets, from the rows ---- */

#define PACKET(name, tag, description)                                                      \
	inline_ uint8_t *put_##name(uint8_t *at, const struct encode_packet_##name *packet, \
				    bool tails)                                             \
	{                                                                                   \
		uint8_t *start = at;                                                        \
		(void)tails;                                                                \
		at = put_dword(at, WIRE_TAG(#tag)) + 4;
#define FIELD(kind, name, description) at = put_##kind(at, packet->name);
#define TAIL(kind, name, description) \
	if (tails)                    \
		at = put_##kind(at, packet->name);
#define PACKET_END(name)                                                 \
	put_dword(start + 4, (uint32_t)(at - start) - WIRE_HEADER_SIZE); \
	return at;                                                       \
	}
/* no file uses all of these functions */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "wire.def"
#pragma GCC diagnostic pop

/* ---- the named values of a call: ARGS packets, or arguments in an .htr container ---- */

struct htr;

/* The values that are being written. A value that does not fit begins a new ARGS packet. */
struct values {
	/* the htr that gets the values; NULL: the values become packets at `at` */
	struct htr *htr;
	/* cache for the number of the next name in htr, plus 1; 0: not known yet; NULL: no cache */
	uint32_t *known;
	uint8_t *at, *end;
	uint8_t *packet; /* the start of the packet under construction; NULL: none */
	uint32_t count;
};

/* Adds one value, which must fit into one packet (see values_put_text()). */
void values_put(struct values *values, const char *name, size_t name_length, const char *value,
		size_t length);

/* Adds a text of any length. A long text is divided into values named NAME, NAME+1, NAME+2 ... */
void values_put_text(struct values *values, const char *name, const char *value, size_t length);

void values_end(struct values *values);

/* ---- hidden packets ---- */

/*
 * Hides packets from programs that read the sp-rtrace format. Otherwise these programs would report
 * events that neither acquire nor release an object as leaks, and add up their sizes. A hidden
 * packet follows the two empty strings of an OCFG packet, which every such program skips;
 * trace/decode.c finds the hidden packet there.
 */

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
