/* SPDX-License-Identifier: MIT */
/*
 * Tests that the complete pieces of a growing file are found. Pieces that another program writes
 * after the file's size was read are left for the next call. Streams keep their numbers.
 */
#include "keep/pieces.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "htr_table.h"
#include "tests/lib/tap.h"
#include "trace/bundle.h"

static int file;
static off_t written;
static size_t comes; /* bytes of another piece that are written just after the size was read */

static void put_piece_of(uint32_t stream, uint32_t size, size_t part)
{
	struct htr_piece piece = { .magic = HTR_MAGIC_PIECE, .stream = stream, .size = size };
	uint8_t *bytes = calloc(1, HTR_SIZE_piece + (size_t)size);

	htr_put_piece(bytes, &piece);
	piece.check = checksum(0, bytes + 8, HTR_SIZE_piece - 8);
	htr_put_piece(bytes, &piece);
	written += pwrite(file, bytes, part, written);
	free(bytes);
}

static void put_piece(uint32_t size, size_t part)
{
	put_piece_of(0, size, part);
}

/* Replaces libc's function in this program: the file grows just after its size was read. */
int fstat(int fd, struct stat *st)
{
	*st = (struct stat){ .st_size = lseek(fd, 0, SEEK_END) };
	if (comes)
		put_piece(100000, comes);
	return 0;
}

static uint64_t read_to(size_t part, size_t *count)
{
	struct pieces pieces = { 0 };
	struct error err = { 0 };
	uint64_t end;

	comes = part;
	if (pieces_read(&pieces, file, 0, &err))
		pieces.read = 0;
	end = pieces.read;
	*count = pieces.count;
	pieces_free(&pieces);
	return end;
}

/* Of the streams 0, 1 and 2, stream 1 has written nothing yet. */
static void find_streams(void)
{
	uint8_t start[HTR_SIZE_bundle];
	const struct bundle_stream *second, *third;
	struct bundle bundle;
	struct error err = { 0 };

	comes = 0;
	if (ftruncate(file, 0))
		abort();
	htr_put_bundle(start, &(struct htr_bundle){ .magic = HTR_MAGIC_BUNDLE,
						    .version = HTR_BUNDLE_VERSION });
	written = pwrite(file, start, sizeof(start), 0);
	put_piece_of(0, 10, HTR_SIZE_piece + 10);
	put_piece_of(2, 20, HTR_SIZE_piece + 20);
	if (bundle_read(&bundle, file, true, &err))
		abort();
	second = bundle_stream_at(&bundle, 1);
	third = bundle_stream_at(&bundle, 2);
	ok(!second, "a stream that has written nothing yet is not found by its number");
	ok(third && third->number == 2 && third->size == 20,
	   "the stream after it is found by its own number");
	free(bundle.streams);
	free(bundle.extents);
}

int main(void)
{
	const uint64_t whole = HTR_SIZE_bundle + HTR_SIZE_piece + 1000;
	size_t count;

	file = memfd_create("pieces", MFD_CLOEXEC);
	written = HTR_SIZE_bundle;
	put_piece(1000, HTR_SIZE_piece + 1000);
	ok(read_to(0, &count) == whole && count == 1, "a whole piece is found");
	ok(read_to(HTR_SIZE_piece, &count) == whole && count == 1,
	   "one whose header came since is none yet");
	written = (off_t)whole;
	ok(ftruncate(file, written + HTR_SIZE_piece) == 0, "of a file that is longer");
	ok(read_to(HTR_SIZE_piece + 500, &count) == whole && count == 1,
	   "one whose rest is still to come, neither");
	written = (off_t)whole;
	put_piece(100000, HTR_SIZE_piece + 100000);
	ok(read_to(0, &count) == whole + HTR_SIZE_piece + 100000 && count == 2,
	   "until it is whole");
	find_streams();
	return tap_end();
}
