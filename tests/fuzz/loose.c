/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/loose.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/checksum.h"
#include "htr_table.h"

#define KEEPS_COLUMNS 1u
#define KEEPS_PLAIN   2u
#define OPENED_MAX    (8u << 20)

/* zstd may enlarge even the smallest block by some hundred bytes (ZSTD_compressBound()) */
#define SEALED_ROOM(size) (12 * (size) + 4096)

struct buffer {
	uint8_t *bytes;
	size_t size, room;
};

static bool put(struct buffer *buffer, const void *bytes, size_t size)
{
	if (size > buffer->room - buffer->size)
		return false;
	if (size)
		memcpy(buffer->bytes + buffer->size, bytes, size);
	buffer->size += size;
	return true;
}

static size_t take_number(const uint8_t *bytes, size_t size, uint64_t *value)
{
	size_t i = 0;

	*value = 0;
	while (i < size && i < HTR_VARINT_MAX) {
		*value |= i < 9 ? (uint64_t)(bytes[i] & 0x7f) << 7 * i : 0;
		if (bytes[i++] < 0x80)
			break;
	}
	return i;
}

static size_t put_number(uint8_t *bytes, uint64_t value)
{
	size_t i = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[i++] = (uint8_t)(value | 0x80);
	bytes[i++] = (uint8_t)value;
	return i;
}

/* Changes the sizes of the columns so that their sum is correct. Returns the new size in bytes. */
static size_t repair_columns(uint8_t *to, const uint8_t *bytes, size_t size)
{
	uint64_t sizes[HTR_COLUMN_COUNT];
	size_t at = 0, length = 0, left;

	for (int i = 0; i < HTR_COLUMN_COUNT; i++)
		at += take_number(bytes + at, size - at, &sizes[i]);
	left = size - at;
	for (int i = 0; i < HTR_COLUMN_COUNT; i++) {
		if (sizes[i] > left || i == HTR_COLUMN_COUNT - 1)
			sizes[i] = left;
		left -= sizes[i];
		length += put_number(to + length, sizes[i]);
	}
	if (size > at)
		memcpy(to + length, bytes + at, size - at);
	return length + (size - at);
}

/* Appends the definitions or the events of a block, and sets their packed size and checksum. */
static bool put_part(struct buffer *buffer, const uint8_t *bytes, size_t size, bool is_plain,
		     uint32_t *packed, uint32_t *check)
{
	size_t room = ZSTD_compressBound(size), length;
	uint8_t *at = buffer->bytes + buffer->size;

	*packed = *check = 0;
	if (size == 0)
		return true;
	if (is_plain) {
		length = size;
		if (!put(buffer, bytes, size))
			return false;
	} else {
		if (room > buffer->room - buffer->size)
			return false;
		length = ZSTD_compress(at, room, bytes, size, -5);
		if (ZSTD_isError(length))
			return false;
		buffer->size += length;
	}
	*packed = (uint32_t)length;
	*check = checksum(0, at, length);
	return true;
}

/* Converts a loose block to a sealed one. Returns the size of the loose block, or 0 on failure. */
static size_t seal_block(struct buffer *buffer, const uint8_t *bytes, size_t size)
{
	size_t start = buffer->size, at = HTR_SIZE_block, definitions, events, length;
	bool is_plain, is_right;
	struct htr_block block;
	uint8_t *columns;

	htr_get_block(bytes, &block);
	is_plain = block.check & KEEPS_PLAIN;
	definitions = block.definitions_packed < size - at ? block.definitions_packed : size - at;
	events = block.events_packed < size - at - definitions ? block.events_packed
							       : size - at - definitions;
	if (!put(buffer, bytes, HTR_SIZE_block))
		return 0;
	if (block.definitions_size == block.definitions_packed)
		block.definitions_size = (uint32_t)definitions;
	is_right = put_part(buffer, bytes + at, definitions, is_plain, &block.definitions_packed,
			    &block.definitions_check);
	at += definitions;
	columns = malloc(events + HTR_COLUMN_COUNT * HTR_VARINT_MAX + 1);
	if (!columns)
		return 0;
	length = events;
	if (block.check & KEEPS_COLUMNS || events == 0)
		memcpy(columns, bytes + at, events);
	else
		length = repair_columns(columns, bytes + at, events);
	if (block.events_size == block.events_packed)
		block.events_size = (uint32_t)length;
	is_right = is_right && put_part(buffer, columns, length, is_plain, &block.events_packed,
					&block.events_check);
	free(columns);
	block.magic = HTR_MAGIC_BLOCK;
	htr_put_block(buffer->bytes + start, &block);
	block.check = checksum(0, buffer->bytes + start + 8, HTR_SIZE_block - 8);
	htr_put_block(buffer->bytes + start, &block);
	return is_right ? at + events : 0;
}

uint8_t *loose_seal(const uint8_t *bytes, size_t size, size_t *sealed)
{
	struct buffer buffer = { malloc(SEALED_ROOM(size)), 0, SEALED_ROOM(size) };
	size_t at = 0;
	bool is_right = buffer.bytes != NULL;

	while (is_right && size - at >= 8) {
		const uint8_t *start = bytes + at;
		uint64_t magic = htr_get_qword(&start);
		size_t step = 0;

		if (magic == HTR_MAGIC && size - at >= HTR_SIZE_file) {
			step = HTR_SIZE_file;
			is_right = put(&buffer, bytes + at, step);
		} else if ((uint32_t)magic == HTR_MAGIC_BLOCK && size - at >= HTR_SIZE_block) {
			step = seal_block(&buffer, bytes + at, size - at);
			is_right = step > 0;
		}
		if (step == 0)
			break;
		at += step;
	}
	is_right = is_right && put(&buffer, bytes + at, size - at);
	if (!is_right) {
		free(buffer.bytes);
		return NULL;
	}
	*sealed = buffer.size;
	return buffer.bytes;
}

static bool open_part(struct buffer *buffer, const uint8_t *bytes, size_t packed, size_t size)
{
	if (size > buffer->room - buffer->size ||
	    ZSTD_decompress(buffer->bytes + buffer->size, size, bytes, packed) != size)
		return false;
	buffer->size += size;
	return true;
}

static size_t open_block(struct buffer *buffer, const uint8_t *bytes, size_t size)
{
	size_t start = buffer->size, whole;
	struct htr_block block;

	htr_get_block(bytes, &block);
	whole = (size_t)HTR_SIZE_block + block.definitions_packed + block.events_packed;
	if (whole > size || !put(buffer, bytes, HTR_SIZE_block))
		return 0;
	if ((block.definitions_size &&
	     !open_part(buffer, bytes + HTR_SIZE_block, block.definitions_packed,
			block.definitions_size)) ||
	    (block.events_size &&
	     !open_part(buffer, bytes + HTR_SIZE_block + block.definitions_packed,
			block.events_packed, block.events_size)))
		return 0;
	block.definitions_packed = block.definitions_size;
	block.events_packed = block.events_size;
	block.check = 0;
	htr_put_block(buffer->bytes + start, &block);
	return whole;
}

uint8_t *loose_open(const uint8_t *bytes, size_t size, size_t *opened)
{
	struct buffer buffer = { malloc(OPENED_MAX), 0, OPENED_MAX };
	size_t at = 0, step = 1;

	while (buffer.bytes && step && size - at >= 8) {
		const uint8_t *start = bytes + at;
		uint64_t magic = htr_get_qword(&start);

		if (magic == HTR_MAGIC && size - at >= HTR_SIZE_file)
			step = put(&buffer, bytes + at, HTR_SIZE_file) ? HTR_SIZE_file : 0;
		else if ((uint32_t)magic == HTR_MAGIC_BLOCK && size - at >= HTR_SIZE_block)
			step = open_block(&buffer, bytes + at, size - at);
		else
			break;
		at += step;
	}
	if (!buffer.bytes || !step || !put(&buffer, bytes + at, size - at)) {
		free(buffer.bytes);
		return NULL;
	}
	*opened = buffer.size;
	return buffer.bytes;
}
