/* SPDX-License-Identifier: MIT */
#include "keep/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/memory.h"
#include "htr_table.h"

static int write_all(struct writer *writer, const uint8_t *bytes, size_t size, struct error *err)
{
	while (size) {
		ssize_t wrote = pwrite(writer->fd, bytes, size, (off_t)writer->size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return error_system(err, wrote ? errno : EIO,
					    "cannot write the shorter trace");
		writer->size += (uint64_t)wrote;
		bytes += wrote;
		size -= (size_t)wrote;
	}
	return 0;
}

int writer_begin(struct writer *writer, int fd, struct error *err)
{
	const struct htr_bundle start = { .magic = HTR_MAGIC_BUNDLE,
					  .version = HTR_BUNDLE_VERSION };
	uint8_t bytes[HTR_SIZE_bundle];

	*writer = (struct writer){ .fd = fd };
	htr_put_bundle(bytes, &start);
	return write_all(writer, bytes, sizeof(bytes), err);
}

void writer_free(struct writer *writer)
{
	free(writer->places.items);
	free(writer->bytes);
}

uint64_t writer_place(const struct writer *writer, uint32_t stream)
{
	return stream < writer->places.count ? writer->places.items[stream] : 0;
}

/* Copies `size` bytes at `offset` of the file `from` as a piece with a new header. */
static int writer_put(struct writer *writer, uint32_t stream, int from, uint64_t offset,
		      uint32_t size, struct error *err)
{
	struct htr_piece header = { .magic = HTR_MAGIC_PIECE, .stream = stream, .size = size };
	uint64_t *place = ARRAY_AT(&writer->places, stream);

	if (HTR_SIZE_piece + (size_t)size > writer->room) {
		writer->room = HTR_SIZE_piece + (size_t)size;
		writer->bytes = memory_resize(writer->bytes, writer->room);
	}
	for (size_t done = 0; done < size;) {
		ssize_t got = pread(from, writer->bytes + HTR_SIZE_piece + done, size - done,
				    (off_t)(offset + done));

		if (got <= 0)
			return error_system(err, got ? errno : EIO, "cannot read a piece");
		done += (size_t)got;
	}
	header.place = *place;
	htr_put_piece(writer->bytes, &header);
	header.check = checksum(0, writer->bytes + 8, HTR_SIZE_piece - 8);
	htr_put_piece(writer->bytes, &header);
	*place += size;
	return write_all(writer, writer->bytes, HTR_SIZE_piece + (size_t)size, err);
}

int writer_copy(struct writer *writer, int from, const struct piece *piece, struct error *err)
{
	return writer_put(writer, piece->stream, from, piece->offset, piece->size, err);
}

/*
 * Returns the size of the part at `offset`: a start, a block, or the index and everything after it.
 */
static uint64_t part_size(int from, uint64_t offset, uint64_t left)
{
	uint8_t bytes[HTR_SIZE_block] = { 0 };
	ssize_t got = pread(from, bytes, sizeof(bytes), (off_t)offset);
	const unsigned char *at = bytes;
	struct htr_block block;

	if (got < HTR_SIZE_file)
		return left;
	if (htr_get_qword(&at) == HTR_MAGIC)
		return HTR_SIZE_file;
	htr_get_block(bytes, &block);
	if (block.magic != HTR_MAGIC_BLOCK)
		return left;
	return HTR_SIZE_block + (uint64_t)block.definitions_packed + block.events_packed;
}

int writer_take(struct writer *writer, uint32_t stream, int from, struct error *err)
{
	struct stat facts;
	int rc = fstat(from, &facts) ? error_system(err, errno, "cannot read a new section") : 0;

	for (uint64_t offset = 0; rc == 0 && offset < (uint64_t)facts.st_size;) {
		uint64_t left = (uint64_t)facts.st_size - offset;
		uint64_t size = part_size(from, offset, left);

		if (size > left || size > UINT32_MAX)
			return error_set(err, EIO, "a new section is damaged");
		rc = writer_put(writer, stream, from, offset, (uint32_t)size, err);
		offset += size;
	}
	return rc;
}
