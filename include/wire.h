/* SPDX-License-Identifier: MIT */
#ifndef WIRE_H
#define WIRE_H

/*
 * The binary stream as C: tags, limits and one struct a packet, made from wire.def. collect/encode
 * writes them, trace/read_binary reads them.
 */

#include <stdint.h>

#define WIRE_HANDSHAKE	 0xf0
#define WIRE_MAJOR	 2
#define WIRE_MINOR	 0
#define WIRE_PACKET_MAX	 4096u	    /* sp-rtrace 1.8 reads 4 KiB at a time into 8 KiB */
#define WIRE_READ_MAX	 (1u << 20) /* a longer packet than this is taken for damage */
#define WIRE_STRING_MAX	 65534u
#define WIRE_TAIL_MARKER 0x314c5448u /* "HTL1" */
#define WIRE_NO_STREAM	 0xffffffffu
#define WIRE_HEADER_SIZE 8u
#define WIRE_ASIDE_SIZE	 16u /* in front of a packet within OCFG: its header, two empty strings */
/* Most frames whose BTRC still fits a packet, also within another: header, count, 8 bytes each. */
#define WIRE_FRAMES_MAX ((WIRE_PACKET_MAX - WIRE_ASIDE_SIZE - WIRE_HEADER_SIZE - 4) / 8)

/* The four single bytes of CALL's tail. */
struct wire_flags {
	uint8_t operation; /* enum operation */
	uint8_t moment;	   /* enum moment: ENTER, LEAVE or HALF */
	uint8_t part;	   /* 0: the call itself; 1, 2 …: what else it gained or lost */
	uint8_t bits;	   /* enum call_flag */
};

struct wire_value {
	const char *name;
	const char *value;
};

struct wire_values {
	uint32_t count;
	const struct wire_value *items;
};

struct wire_addresses {
	uint32_t count;
	const uint64_t *items; /* widened to 64 bits on every machine */
};

/* A member's type for each kind of field. Strings end in NUL; what points lives in the reader. */
typedef uint32_t wire_dword;
typedef uint64_t wire_qword;
typedef uint64_t wire_pointer;
typedef const char *wire_string;
typedef struct wire_flags wire_flags;
typedef struct wire_values wire_values;
typedef struct wire_addresses wire_addresses;

#define PACKET(name, tag, description) struct wire_##name {
#define FIELD(kind, name, description) wire_##kind name;
#define TAIL(kind, name, description)  wire_##kind name;
#define PACKET_END(name) \
	}                \
	;
#include "wire.def"

enum wire_packet {
#define PACKET(name, tag, description) WIRE_PACKET_##tag,
#include "wire.def"
	WIRE_PACKET_COUNT
};

/* A tag's letters as the dword that a machine of either byte order writes: 'C' is the low byte. */
#define WIRE_TAG(text)                                                                \
	((uint32_t)(text)[0] | (uint32_t)(text)[1] << 8 | (uint32_t)(text)[2] << 16 | \
	 (uint32_t)(text)[3] << 24)

/* What is no call of a hooked function has a name that begins so: see notes.def. */
#define WIRE_NOTE_PREFIX '~'

#endif
