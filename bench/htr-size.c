/* SPDX-License-Identifier: MIT */
/*
 * htr-size FILE...: prints "EVENTS BYTES STORED" of .htr files: the number of events, the bytes of
 * all blocks with their headers before compression, and the bytes of the files.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "htr_table.h"

struct sizes {
	uint64_t events, bytes, stored;
};

/*
 * A stream, read as one sequence of bytes: the whole file or, if the file has several streams, the
 * pieces of one of them. left: unread bytes of the current piece; 0 if the file has no pieces.
 */
struct stream {
	FILE *file;
	bool has_pieces;
	uint32_t number;
	uint64_t left;
};

/* Moves to the next piece of the stream. Returns false at the end of the file. */
static bool next_piece(struct stream *stream)
{
	uint8_t bytes[HTR_SIZE_piece];
	struct htr_piece piece;

	for (;;) {
		if (fread(bytes, 1, sizeof(bytes), stream->file) != sizeof(bytes))
			return false;
		htr_get_piece(bytes, &piece);
		if (piece.magic != HTR_MAGIC_PIECE)
			return false;
		stream->left = piece.size;
		if (piece.stream == stream->number)
			return true;
		if (fseeko(stream->file, (off_t)piece.size, SEEK_CUR) != 0)
			return false;
	}
}

/* Reads `size` bytes; skips them if `bytes` is NULL. Returns false at the end of the file. */
static bool take(struct stream *stream, uint8_t *bytes, uint64_t size)
{
	while (size) {
		uint64_t part = size;

		if (stream->has_pieces && !stream->left && !next_piece(stream))
			return false;
		if (stream->has_pieces && part > stream->left)
			part = stream->left;
		if (bytes ? fread(bytes, 1, part, stream->file) != part
			  : fseeko(stream->file, (off_t)part, SEEK_CUR) != 0)
			return false;
		bytes = bytes ? bytes + part : NULL;
		size -= part;
		stream->left -= stream->has_pieces ? part : 0;
	}
	return true;
}

/* Adds the sizes in a block's header, and skips the block. Returns false after the last block. */
static bool add_block(struct stream *stream, struct sizes *sizes)
{
	uint8_t bytes[HTR_SIZE_block];
	struct htr_block block;

	if (!take(stream, bytes, sizeof(bytes)))
		return false;
	htr_get_block(bytes, &block);
	if (block.magic != HTR_MAGIC_BLOCK)
		return false;
	sizes->events += block.events;
	sizes->bytes += sizeof(bytes) + block.definitions_size + block.events_size;
	return take(stream, NULL, (uint64_t)block.definitions_packed + block.events_packed);
}

/* Returns false if the file has no stream with this number. */
static bool add_stream(FILE *file, bool has_pieces, uint32_t number, struct sizes *sizes)
{
	struct stream stream = { .file = file, .has_pieces = has_pieces, .number = number };

	if (fseeko(file, has_pieces ? HTR_SIZE_bundle : 0, SEEK_SET) != 0 ||
	    !take(&stream, NULL, HTR_SIZE_file))
		return false;
	while (add_block(&stream, sizes))
		;
	return true;
}

static int add_file(const char *path, struct sizes *sizes)
{
	FILE *file = fopen(path, "re");
	uint8_t bytes[HTR_SIZE_bundle];
	struct htr_bundle bundle = { 0 };
	uint32_t number = 0;

	if (file == NULL || fread(bytes, 1, sizeof(bytes), file) != sizeof(bytes)) {
		perror(path);
		if (file != NULL)
			fclose(file);
		return -1;
	}
	htr_get_bundle(bytes, &bundle);
	if (bundle.magic == HTR_MAGIC_BUNDLE)
		while (add_stream(file, true, number, sizes))
			number++;
	else
		add_stream(file, false, 0, sizes);
	fseeko(file, 0, SEEK_END);
	sizes->stored += (uint64_t)ftello(file);
	return fclose(file);
}

int main(int argc, char **argv)
{
	struct sizes sizes = { 0 };

	for (int i = 1; i < argc; i++)
		if (add_file(argv[i], &sizes) != 0)
			return 1;
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", sizes.events, sizes.bytes, sizes.stored);
	return 0;
}
