/* SPDX-License-Identifier: MIT */
#ifndef DECODE_H
#define DECODE_H

/*
 * Decodes the contents of packets according to the rows of wire.def. A cursor holds the position,
 * the end, the byte order and the pointer size of the contents. After its first failure, it stays
 * failed. Every length is checked against the remaining bytes before it is used.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/pool.h"
#include "wire.h"

#define DECODE_FRAMES_MAX    16384u
#define DECODE_ARGUMENTS_MAX 1024u

struct cursor {
	const unsigned char *at, *end;
	bool is_swapped; /* the stream has the other byte order */
	bool has_failed;
	uint8_t pointer_size; /* bytes of a pointer: 4 or 8 */
	struct pool *pool;    /* where strings and lists of values are allocated */
	uint64_t *frames;     /* buffer for addresses, of DECODE_FRAMES_MAX items */
};

enum decoded {
	DECODE_FAILED, /* the contents do not match the packet's rows */
	DECODE_FIELDS, /* only the fields of the protocol; tail members are 0 or "" */
	DECODE_TAIL,   /* the fields of the protocol and holdtrace's tail */
};

/* Bits of `absent`: fields that streams of old versions do not have. */
#define ABSENT_PROCESS_DEPTH  (1u << 3) /* missing before version 1.2 */
#define ABSENT_RESOURCE_FLAGS (1u << 1) /* missing before version 1.3 */

/*
 * Declares decode_call(&cursor, absent, wants_tail, &packet) and so on, one function for each
 * PACKET of wire.def. Bytes that follow the known fields are ignored. The cursor is not moved.
 */
#define PACKET(name, tag, description)                                                            \
	enum decoded decode_##name(const struct cursor *cursor, unsigned absent, bool wants_tail, \
				   struct wire_##name *packet);
#include "wire.def"

/*
 * Decodes a CALL packet of a stream without tails. is_document_order: the fields have the order of
 * sp-rtrace's document BINARY_PROTOCOL (timestamp, resource, context, type, name, id, size), not
 * the order that sp-rtrace writes. The size has 8 bytes if the packet is long enough, otherwise 4.
 */
enum decoded decode_plain_call(struct cursor *cursor, bool is_document_order,
			       struct wire_call *packet);

static inline uint32_t cursor_dword(struct cursor *cursor)
{
	uint32_t value;

	if (cursor->end - cursor->at < 4) {
		cursor->has_failed = true;
		cursor->at = cursor->end;
		return 0;
	}
	memcpy(&value, cursor->at, 4);
	cursor->at += 4;
	return cursor->is_swapped ? __builtin_bswap32(value) : value;
}

static inline uint64_t cursor_qword(struct cursor *cursor)
{
	uint64_t value;

	if (cursor->end - cursor->at < 8) {
		cursor->has_failed = true;
		cursor->at = cursor->end;
		return 0;
	}
	memcpy(&value, cursor->at, 8);
	cursor->at += 8;
	return cursor->is_swapped ? __builtin_bswap64(value) : value;
}

#endif
