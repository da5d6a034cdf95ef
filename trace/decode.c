/* SPDX-License-Identifier: MIT */
#include "trace/decode.h"

static inline uint64_t cursor_pointer(struct cursor *cursor)
{
	return cursor->pointer_size == 8 ? cursor_qword(cursor) : cursor_dword(cursor);
}

static inline struct wire_flags cursor_flags(struct cursor *cursor)
{
	struct wire_flags flags = { 0 };

	if (cursor->end - cursor->at < 4) {
		cursor->has_failed = true;
		return flags;
	}
	flags.operation = cursor->at[0];
	flags.moment = cursor->at[1];
	flags.part = cursor->at[2];
	flags.bits = cursor->at[3];
	cursor->at += 4;
	return flags;
}

/*
 * sp-rtrace counts the padding in the length of a string, contrary to its document. This function
 * reads both forms: it drops trailing NULs and continues at the next multiple of 4.
 */
static inline __attribute__((always_inline)) const char *cursor_string(struct cursor *cursor)
{
	size_t left = (size_t)(cursor->end - cursor->at), length, whole;
	const char *text = (const char *)cursor->at + 2;
	uint16_t word;
	char *copy;

	if (left < 2)
		goto failed;
	memcpy(&word, cursor->at, 2);
	length = cursor->is_swapped ? __builtin_bswap16(word) : word;
	if (length > left - 2)
		goto failed;
	whole = (2 + length + 3) & ~(size_t)3;
	cursor->at += whole < left ? whole : left;
	copy = pool_text(cursor->pool, text, strnlen(text, length));
	if (copy)
		return copy;
failed:
	cursor->has_failed = true;
	cursor->at = cursor->end;
	return "";
}

static struct wire_values cursor_values(struct cursor *cursor)
{
	struct wire_values values = { 0 };
	uint32_t count = cursor_dword(cursor);
	struct wire_value *items;

	/* A pair takes at least 8 bytes; the last pair takes 6 if its padding is missing. */
	if (count > DECODE_ARGUMENTS_MAX || count > (size_t)(cursor->end - cursor->at) / 6) {
		cursor->has_failed = true;
		return values;
	}
	items = pool_alloc(cursor->pool, count * sizeof(*items));
	if (!items) {
		cursor->has_failed = true;
		return values;
	}
	for (uint32_t i = 0; i < count; i++) {
		items[i].name = cursor_string(cursor);
		items[i].value = cursor_string(cursor);
	}
	values.count = count;
	values.items = items;
	return values;
}

static struct wire_addresses cursor_addresses(struct cursor *cursor)
{
	struct wire_addresses addresses = { 0, cursor->frames };
	uint32_t count = cursor_dword(cursor);

	if (count > DECODE_FRAMES_MAX ||
	    count > (size_t)(cursor->end - cursor->at) / cursor->pointer_size) {
		cursor->has_failed = true;
		return addresses;
	}
	addresses.count = count;
	if (cursor->pointer_size == 8 && !cursor->is_swapped) {
		memcpy(cursor->frames, cursor->at, count * sizeof(uint64_t));
		cursor->at += count * sizeof(uint64_t);
		return addresses;
	}
	for (uint32_t i = 0; i < count; i++)
		cursor->frames[i] = cursor_pointer(cursor);
	return addresses;
}

#define UNSET_dword	(0)
#define UNSET_qword	(0)
#define UNSET_pointer	(0)
#define UNSET_string	("")
#define UNSET_flags	((struct wire_flags){ 0 })
#define UNSET_values	((struct wire_values){ 0 })
#define UNSET_addresses ((struct wire_addresses){ 0 })

/* Decodes the fields of the protocol. */
#define PACKET(name, tag, description)                                              \
	static inline bool fields_of_##name(struct cursor *cursor, unsigned absent, \
					    struct wire_##name *packet)             \
	{                                                                           \
		unsigned field = 0;
#define FIELD(kind, name, description) \
	packet->name = absent >> field++ & 1 ? UNSET_##kind : cursor_##kind(cursor);
#define PACKET_END(name)            \
	(void)field;                \
	return !cursor->has_failed; \
	}
#include "wire.def"

/* Decodes holdtrace's tail. */
#define PACKET(name, tag, description)                                                       \
	static inline bool tail_of_##name(struct cursor *cursor, struct wire_##name *packet) \
	{                                                                                    \
		const unsigned char *start = cursor->at;                                     \
		(void)packet;
#define TAIL(kind, name, description) packet->name = cursor_##kind(cursor);
#define PACKET_END(name)                                   \
	return !cursor->has_failed && cursor->at != start; \
	}
#include "wire.def"

/* Sets the tail members of a packet that has no tail. */
#define PACKET(name, tag, description)                                   \
	static inline void no_tail_of_##name(struct wire_##name *packet) \
	{                                                                \
		(void)packet;
#define TAIL(kind, name, description) packet->name = UNSET_##kind;
#define PACKET_END(name)	      }
#include "wire.def"

/* Works on a copy of the cursor, so that the compiler can keep it in registers. */
#define PACKET(name, tag, description)                                                            \
	enum decoded decode_##name(const struct cursor *cursor, unsigned absent, bool wants_tail, \
				   struct wire_##name *packet)                                    \
	{                                                                                         \
		struct cursor here = *cursor;                                                     \
                                                                                                  \
		if (!fields_of_##name(&here, absent, packet))                                     \
			return DECODE_FAILED;                                                     \
		if (wants_tail && tail_of_##name(&here, packet))                                  \
			return DECODE_TAIL;                                                       \
		no_tail_of_##name(packet);                                                        \
		return DECODE_FIELDS;                                                             \
	}
#include "wire.def"

enum decoded decode_plain_call(struct cursor *cursor, bool is_document_order,
			       struct wire_call *packet)
{
	uint32_t words[3] = { cursor_dword(cursor), 0, 0 };
	size_t size_bytes;

	words[1] = cursor_dword(cursor);
	words[2] = cursor_dword(cursor);
	packet->timestamp = words[is_document_order ? 0 : 2];
	packet->resource = words[is_document_order ? 1 : 0];
	packet->context = words[is_document_order ? 2 : 1];
	packet->type = cursor_dword(cursor);
	packet->function = cursor_string(cursor);
	no_tail_of_call(packet);
	size_bytes = (size_t)(cursor->end - cursor->at) >= cursor->pointer_size + 8u ? 8 : 4;
	if (is_document_order)
		packet->object = cursor_pointer(cursor);
	packet->bytes = size_bytes == 8 ? cursor_qword(cursor) : cursor_dword(cursor);
	packet->size = (uint32_t)packet->bytes;
	if (!is_document_order)
		packet->object = cursor_pointer(cursor);
	return cursor->has_failed ? DECODE_FAILED : DECODE_FIELDS;
}
