/* SPDX-License-Identifier: MIT */
#include "base/proto.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define VARINT_MAX 10u

/* Wire types: the lowest bits of a field's key. */
enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2 };

void proto_clear(struct proto *proto)
{
	proto->used = 0;
}

void proto_free(struct proto *proto)
{
	free(proto->bytes);
	*proto = (struct proto){ 0 };
}

static void proto_append(struct proto *proto, const void *bytes, size_t size)
{
	size_t capacity = proto->capacity ? proto->capacity : 256;

	while (capacity - proto->used < size)
		capacity *= 2;
	if (capacity != proto->capacity) {
		proto->bytes = memory_resize(proto->bytes, capacity);
		proto->capacity = capacity;
	}
	if (!size)
		return;
	memcpy(proto->bytes + proto->used, bytes, size);
	proto->used += size;
}

void proto_packed(struct proto *proto, uint64_t number)
{
	unsigned char digits[VARINT_MAX];
	size_t count = 0;

	for (; number >= 0x80; number >>= 7)
		digits[count++] = (unsigned char)(number | 0x80);
	digits[count++] = (unsigned char)number;
	proto_append(proto, digits, count);
}

static void put_key(struct proto *proto, unsigned field, enum wire wire)
{
	proto_packed(proto, (uint64_t)field << 3 | wire);
}

void proto_unsigned(struct proto *proto, unsigned field, uint64_t number)
{
	put_key(proto, field, WIRE_VARINT);
	proto_packed(proto, number);
}

void proto_fixed64(struct proto *proto, unsigned field, uint64_t number)
{
	unsigned char digits[8];

	for (unsigned i = 0; i < sizeof(digits); i++)
		digits[i] = (unsigned char)(number >> 8 * i);
	put_key(proto, field, WIRE_FIXED64);
	proto_append(proto, digits, sizeof(digits));
}

static void proto_bytes(struct proto *proto, unsigned field, const void *bytes, size_t size)
{
	put_key(proto, field, WIRE_LENGTH);
	proto_packed(proto, size);
	proto_append(proto, bytes, size);
}

void proto_message(struct proto *proto, unsigned field, const struct proto *inner)
{
	proto_bytes(proto, field, inner->bytes, inner->used);
}

/* Returns the length of the longest prefix that is valid UTF-8. */
static size_t plain_length(const char *text, size_t length)
{
	size_t at = 0;
	uint32_t code;
	unsigned step;

	while (at < length && (step = utf8_decode(text + at, length - at, &code)) != 0)
		at += step;
	return at;
}

void proto_text(struct proto *proto, unsigned field, const char *text)
{
	size_t length = strlen(text), plain;
	struct proto replaced = { 0 };

	if (plain_length(text, length) == length) {
		proto_bytes(proto, field, text, length);
		return;
	}
	for (; length; text += plain, length -= plain) {
		plain = plain_length(text, length);
		proto_append(&replaced, text, plain);
		if (plain < length)
			proto_append(&replaced, "\xef\xbf\xbd", 3);
		plain += plain < length;
	}
	proto_message(proto, field, &replaced);
	proto_free(&replaced);
}
