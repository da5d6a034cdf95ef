/* SPDX-License-Identifier: MIT */
#ifndef WIRE_H
#define WIRE_H

/*
 * The binary stream in C: tags, limits and a struct for each packet, made from wire.def.
 * collect/encode writes packets, trace/read_binary reads them.
 */

#include <stdint.h>

#define WIRE_HANDSHAKE 0xf0
#define WIRE_MAJOR     2
#define WIRE_MINOR     0
/* in bytes: the limit of sp-rtrace 1.8, which reads 4 KiB at a time into a buffer of 8 KiB */
#define WIRE_PACKET_MAX	 4096u
#define WIRE_READ_MAX	 (1u << 20) /* a longer packet is treated as damage */
#define WIRE_STRING_MAX	 65534u
#define WIRE_TAIL_MARKER 0x314c5448u /* the text "HTL1" */
#define WIRE_NO_STREAM	 0xffffffffu
#define WIRE_HEADER_SIZE 8u
/* bytes of an OCFG packet before the packet hidden in it: a header and two empty strings */
#define WIRE_ASIDE_SIZE 16u
/*
 * Maximum number of frames in a BTRC packet (header, count, 8 bytes a frame), so that the packet
 * fits even into an OCFG packet.
 */
#define WIRE_FRAMES_MAX ((WIRE_PACKET_MAX - WIRE_ASIDE_SIZE - WIRE_HEADER_SIZE - 4) / 8)

/* The field `what` of the packet CALL: four single bytes. */
struct wire_flags {
	uint8_t operation; /* enum operation */
	uint8_t moment;	   /* enum moment: ENTER, LEAVE or HALF */
	/* 0: the call itself; 1, 2 ...: further objects that the call acquired or released */
	uint8_t part;
	uint8_t bits; /* enum call_flag */
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

/*
 * The C type of each kind of field. Strings end with NUL. Pointers point into the program that
 * reads or writes the packet.
 */
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

/* Converts a tag such as "CALL" to a dword whose lowest byte is the first letter, 'C'. */
#define WIRE_TAG(text)                                                                \
	((uint32_t)(text)[0] | (uint32_t)(text)[1] << 8 | (uint32_t)(text)[2] << 16 | \
	 (uint32_t)(text)[3] << 24)

/* First character of a note's name. A note is an event that is not a call (notes.def). */
#define WIRE_NOTE_PREFIX '~'

#endif
