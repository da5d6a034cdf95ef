/* SPDX-License-Identifier: MIT */
#ifndef SWAP_MESSAGE_H
#define SWAP_MESSAGE_H

/*
 * Encodes SWAP messages. They are packed and little-endian; texts end with NUL and have no length
 * field. The sequence number is set later, when the messages have been sorted.
 */

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define SWAP_HEADER_SIZE     20u
#define SWAP_SEQUENCE_OFFSET 4u

enum swap_dialect {
	SWAP_DIALECT_DOC,   /* according to the document */
	SWAP_DIALECT_TIZEN, /* as written by SWAP's producers of 2016 */
};

enum swap_id {
	SWAP_PROCESS_INFO = 0x0001,
	SWAP_TERMINATE = 0x0002,
	SWAP_ERROR = 0x0003,
	SWAP_SAMPLE = 0x0004,
	SWAP_SYSTEM = 0x0005,
	SWAP_FUNCTION_ENTRY = 0x0008,
	SWAP_FUNCTION_EXIT = 0x0009,
	SWAP_FILE_FUNCTION_ENTRY = 0x000c,
	SWAP_FILE_FUNCTION_EXIT = 0x000d,
	SWAP_PROCESS_STATUS_INFO = 0x000e,
	SWAP_PROCESS_MAP = 0x0012,
	SWAP_PROCESS_UNMAP = 0x0013,
	SWAP_PROBE_MEMORY = 0x0101,
	SWAP_PROBE_FILE = 0x0104,
	SWAP_PROBE_THREAD = 0x0108,
	SWAP_PROBE_CUSTOM = 0x0109,
	SWAP_PROBE_SYNC = 0x0110,
	SWAP_PROBE_NETWORK = 0x0111,
};

/* The arguments that come after the path in FILE_FUNCTION_ENTRY. */
enum swap_file_argument { SWAP_FILE_ARGUMENT_NONE, SWAP_FILE_ARGUMENT_OPEN };

/* A message that is being encoded. The buffer must be large enough for the message. */
struct swap_message {
	char *start, *at;
	enum swap_dialect dialect;
};

static inline void swap_put_u32(struct swap_message *message, uint32_t value)
{
	value = htole32(value);
	memcpy(message->at, &value, 4);
	message->at += 4;
}

static inline void swap_put_u64(struct swap_message *message, uint64_t value)
{
	value = htole64(value);
	memcpy(message->at, &value, 8);
	message->at += 8;
}

static inline void swap_put_f32(struct swap_message *message, float value)
{
	uint32_t word;

	memcpy(&word, &value, 4);
	swap_put_u32(message, word);
}

static inline void swap_put_char(struct swap_message *message, char character)
{
	*message->at++ = character;
}

static inline void swap_put_text(struct swap_message *message, const char *text)
{
	size_t size = strlen(text) + 1;

	memcpy(message->at, text, size);
	message->at += size;
}

/*
 * Adds a time: 4 bytes of seconds and 4 bytes of ns. According to the document, the seconds are the
 * upper half of the 8 bytes; SWAP's producers write the seconds to the lower half.
 */
static inline void swap_put_time(struct swap_message *message, uint64_t unix_ns)
{
	uint64_t seconds = unix_ns / 1000000000, rest = unix_ns % 1000000000;

	swap_put_u64(message, message->dialect == SWAP_DIALECT_DOC
				      ? seconds << 32 | rest
				      : rest << 32 | (uint32_t)seconds);
}

static inline void swap_begin(struct swap_message *message, char *room, enum swap_dialect dialect,
			      enum swap_id id, uint64_t unix_ns)
{
	message->start = message->at = room;
	message->dialect = dialect;
	swap_put_u32(message, id);
	swap_put_u32(message, 0);
	swap_put_time(message, unix_ns);
	swap_put_u32(message, 0);
}

/* Sets the payload size. Returns the size of the whole message. */
static inline size_t swap_end(struct swap_message *message)
{
	size_t size = (size_t)(message->at - message->start);

	message->at = message->start + SWAP_HEADER_SIZE - 4;
	swap_put_u32(message, (uint32_t)(size - SWAP_HEADER_SIZE));
	return size;
}

#endif
