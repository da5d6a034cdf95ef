/* SPDX-License-Identifier: MIT */
#ifndef DECODE_H
#define DECODE_H

/*
 * Contents of packets, decoded by the rows of wire.def. One cursor goes over them; it knows its
 * end, the byte order and the size of pointers, and fails for good at the first thing that does
 * not fit. No length is believed before it was held against what is left.
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
	bool is_swapped; /* the other byte order than ours */
	bool has_failed;
	uint8_t pointer_size; /* 4 or 8 */
	struct pool *pool;    /* for strings and lists of values */
	uint64_t *frames;     /* for addresses: room for DECODE_FRAMES_MAX */
};

enum decoded {
	DECODE_FAILED, /* the contents are not what the packet's rows say */
	DECODE_FIELDS, /* the protocol's fields; tail members are 0 or "" */
	DECODE_TAIL,   /* and our tail */
};

/* Fields that streams of old versions do not have, as bits of `absent`. */
#define ABSENT_PROCESS_DEPTH  (1u << 3) /* before 1.2 */
#define ABSENT_RESOURCE_FLAGS (1u << 1) /* before 1.3 */

/*
 * decode_call(&cursor, absent, wants_tail, &packet) and so on, one for each PACKET of wire.def.
 * What stands behind the known fields is ignored; the cursor stays.
 */
#define PACKET(name, tag, description)                                                            \
	enum decoded decode_##name(const struct cursor *cursor, unsigned absent, bool wants_tail, \
				   struct wire_##name *packet);
#include "wire.def"

/*
 * CALL of streams without tails. is_document_order: as BINARY_PROTOCOL lists the fields
 * (timestamp, resource, context, type, name, id, size) instead of sp-rtrace's order. A size of 8
 * bytes is taken where there is room for one.
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
