/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "htr_table.h"

#define PIECES_MAX 4096
#define PIECE_MAX  8192

/* A packet, a block of a loose .htr (loose.h), or the bytes before the first of these. */
struct piece {
	size_t start, size;
};

struct form {
	bool is_htr, is_big, is_size_first;
	struct piece pieces[PIECES_MAX]; /* the first piece is the start of the stream */
	size_t count;
};

static struct form form;

static uint32_t dword_at(const uint8_t *at)
{
	uint32_t value = 0;

	for (int i = 0; i < 4; i++)
		value |= (uint32_t)at[i] << 8 * (form.is_big ? 3 - i : i);
	return value;
}

static void put_dword(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> 8 * (form.is_big ? 3 - i : i));
}

static size_t piece_size(const uint8_t *at, size_t left)
{
	struct htr_block block;

	if (!form.is_htr)
		return left < 8		    ? 0
		       : form.is_size_first ? (size_t)dword_at(at) + 4
					    : (size_t)dword_at(at + 4) + 8;
	if (left < HTR_SIZE_block)
		return 0;
	htr_get_block(at, &block);
	return block.magic == HTR_MAGIC_BLOCK
		       ? (size_t)HTR_SIZE_block + block.definitions_packed + block.events_packed
		       : 0;
}

/* Splits the input into pieces. Returns false if it is neither packets nor a container. */
static bool find_pieces(const uint8_t *bytes, size_t size)
{
	static const uint8_t magic[8] = { 0x89, 'H', 'T', 'R', '\r', '\n', 0x1a, '\n' };
	size_t at;

	memset(&form, 0, offsetof(struct form, pieces));
	form.count = 0;
	form.is_htr = size >= HTR_SIZE_file && !memcmp(bytes, magic, 8);
	if (form.is_htr) {
		at = HTR_SIZE_file;
	} else {
		if (size < 8 || bytes[0] != 0xf0 || bytes[1] + 2u > size ||
		    bytes[4] + 7u > bytes[1] + 2u)
			return false;
		at = bytes[1] + 2u;
		form.is_big = bytes[5 + bytes[4]] == 1;
		/* the tag is in the place where other streams have the size */
		form.is_size_first = bytes[2] == 1 && size >= at + 8 &&
				     dword_at(bytes + at) <= 0xffff &&
				     dword_at(bytes + at + 4) > 0xffff;
	}
	form.pieces[form.count++] = (struct piece){ 0, at };
	while (at < size && form.count < PIECES_MAX) {
		size_t step = piece_size(bytes + at, size - at);

		if (step == 0 || step > size - at)
			break;
		form.pieces[form.count++] = (struct piece){ at, step };
		at += step;
	}
	return form.count > 1;
}

/* Replaces the bytes of a piece. Returns the new size of the input. */
static size_t replace(uint8_t *bytes, size_t size, const struct piece *piece, const uint8_t *with,
		      size_t length)
{
	size_t end = piece->start + piece->size;

	memmove(bytes + piece->start + length, bytes + end, size - end);
	memcpy(bytes + piece->start, with, length);
	return size - piece->size + length;
}

/* Mutates and pads the contents of a packet, and updates its size field. Returns the new size. */
static size_t mutate_packet(uint8_t *packet, size_t size, size_t max)
{
	size_t inside = LLVMFuzzerMutate(packet + 8, size - 8, max - 8 - 4);

	while (inside % 4)
		packet[8 + inside++] = 0;
	put_dword(packet + (form.is_size_first ? 0 : 4),
		  (uint32_t)(inside + (form.is_size_first ? 4 : 0)));
	return inside + 8;
}

/* Mutates the header, the definitions or the events of a block. Returns the new size. */
static size_t mutate_block(uint8_t *at, size_t size, size_t max, unsigned seed)
{
	struct htr_block block;
	uint8_t rest[PIECE_MAX];
	size_t definitions, length;

	htr_get_block(at, &block);
	definitions = block.definitions_packed;
	if (seed % 8 == 0) {
		LLVMFuzzerMutate(at + 4, HTR_SIZE_block - 4, HTR_SIZE_block - 4);
		return size;
	}
	if (seed % 8 < 4) {
		size_t events = block.events_packed;

		memcpy(rest, at + HTR_SIZE_block + definitions, events);
		length = LLVMFuzzerMutate(at + HTR_SIZE_block, definitions,
					  max - HTR_SIZE_block - events);
		memcpy(at + HTR_SIZE_block + length, rest, events);
		if (block.definitions_size == definitions)
			block.definitions_size = (uint32_t)length;
		block.definitions_packed = (uint32_t)length;
		htr_put_block(at, &block);
		return HTR_SIZE_block + length + events;
	}
	length = LLVMFuzzerMutate(at + HTR_SIZE_block + definitions, block.events_packed,
				  max - HTR_SIZE_block - definitions);
	if (block.events_size == block.events_packed)
		block.events_size = (uint32_t)length;
	block.events_packed = (uint32_t)length;
	htr_put_block(at, &block);
	return HTR_SIZE_block + definitions + length;
}

static size_t mutate_piece(uint8_t *bytes, size_t size, size_t max, unsigned seed)
{
	static uint8_t copy[2 * PIECE_MAX];
	struct piece *piece = &form.pieces[1 + seed / 16 % (form.count - 1)];
	const struct piece *other = &form.pieces[1 + seed / 4096 % (form.count - 1)];
	size_t room = max - size, length;

	if (piece->size > PIECE_MAX || other->size > PIECE_MAX)
		return LLVMFuzzerMutate(bytes, size, max);
	memcpy(copy, bytes + piece->start, piece->size);
	switch (seed % 16) {
	case 0: /* remove the piece */
		return replace(bytes, size, piece, copy, 0);
	case 1: /* insert a copy of the piece before `other` */
		if (room < piece->size)
			return size;
		memcpy(copy + piece->size, bytes + other->start, other->size);
		return replace(bytes, size, other, copy, piece->size + other->size);
	case 2: /* replace the piece by a copy of `other` */
		if (room < other->size)
			return size;
		memcpy(copy, bytes + other->start, other->size);
		return replace(bytes, size, piece, copy, other->size);
	default:
		break;
	}
	room = piece->size + (room < PIECE_MAX ? room : PIECE_MAX);
	if (piece->size < 8 || room < piece->size + 8)
		return LLVMFuzzerMutate(bytes, size, max);
	length = form.is_htr ? mutate_block(copy, piece->size, room, seed / 16)
			     : mutate_packet(copy, piece->size, room);
	return replace(bytes, size, piece, copy, length);
}

size_t fuzz_mutate(uint8_t *bytes, size_t size, size_t max, unsigned seed, size_t skip)
{
	if (seed % 4 == 0 || size <= skip || !find_pieces(bytes + skip, size - skip))
		return LLVMFuzzerMutate(bytes, size, max);
	return skip + mutate_piece(bytes + skip, size - skip, max - skip, seed / 4);
}
