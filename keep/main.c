/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/cleanup.h"
#include "base/memory.h"
#include "base/resource_limits.h"
#include "base/options.h"
#include "base/order.h"
#include "base/sandbox.h"
#include "htr_table.h"
#include "keep/pieces.h"
#include "keep/state.h"
#include "shorten.h"

/*
 * Writes the new file of a shortened trace. The header of each piece contains the offset of the
 * piece in the shortened stream (`place`).
 */

struct writer {
	int fd;
	uint64_t size; /* size of the file in bytes */
	/* indexed by stream: the place of the next piece of the stream */
	ARRAY_OF(uint64_t) places;
	uint8_t *bytes; /* buffer for a piece with its header */
	size_t room;
};

static int write_all(struct writer *writer, const uint8_t *bytes, size_t size, struct error *err)
{
	while (size) {
		ssize_t wrote = pwrite(writer->fd, bytes, size, (off_t)writer->size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return error_system(err, wrote ? errno : EIO,
					    "cannot write the shortened trace");
		writer->size += (uint64_t)wrote;
		bytes += wrote;
		size -= (size_t)wrote;
	}
	return 0;
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
			return error_system(err, got ? errno : EIO,
					    "cannot read a part of the trace");
		done += (size_t)got;
	}
	header.place = *place;
	htr_put_piece(writer->bytes, &header);
	header.check = checksum(0, writer->bytes + 8, HTR_SIZE_piece - 8);
	htr_put_piece(writer->bytes, &header);
	*place += size;
	return write_all(writer, writer->bytes, HTR_SIZE_piece + (size_t)size, err);
}

/*
 * Returns the size of the part at `offset`, which is a start, a block, or the index and everything
 * after the index. left: bytes from `offset` to the end of the file.
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

/*
 * Copies a section from a separate file, as pieces: its start, its blocks, and its index with the
 * end. Returns 0 or a negative errno.
 */
static int writer_take(struct writer *writer, uint32_t stream, int from, struct error *err)
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

/* maximum number of rounds of catch_up(); each copies what was written since the last round */
#define ROUNDS_MAX 20
#define SMALL	   (256u << 10) /* a round of at most this many bytes is the last */

static const char usage[] = "Usage: holdtrace-keep OLD NEW EXCHANGE since|bytes NUMBER\n"
			    "Shortens a trace of --keep: keeps its last part, and the objects that "
			    "were live when this part began.\n"
			    "\n"
			    "The collector starts this program; users do not start it themselves.\n"
			    "\n"
			    "      --help     print this text and exit\n"
			    "      --version  print the version and exit\n";

struct keep {
	int old, exchange;
	struct keep_done done;
	struct pieces pieces;
	struct writer writer;
	struct {
		struct keep_ended *items;
		size_t count;
	} ended;
	ARRAY_OF(struct keep_stream) streams;
};

/* ---- processes that have ended ---- */

static int read_ended(struct keep *keep, struct error *err)
{
	struct stat facts;

	if (fstat(keep->exchange, &facts))
		return error_system(err, errno, "cannot read the list of streams that have ended");
	keep->ended.items = memory_alloc((size_t)facts.st_size);
	if (pread(keep->exchange, keep->ended.items, (size_t)facts.st_size, 0) != facts.st_size)
		return error_set(err, EIO, "cannot read the list of streams that have ended");
	keep->ended.count = (size_t)facts.st_size / sizeof(*keep->ended.items);
	return 0;
}

static bool has_gone(const struct keep *keep, uint32_t stream)
{
	for (size_t i = 0; i < keep->ended.count; i++)
		if (keep->ended.items[i].stream == stream)
			return keep->ended.items[i].ended_ns < keep->done.since_ns;
	return false;
}

/* ---- start of the kept part ---- */

struct section {
	uint64_t last_ns, size;
};

ORDER_FUNCTION(later_first, struct section, ORDER(b->last_ns, a->last_ns))

/*
 * Sets done.since_ns to the earliest time such that the sections with events after this time have
 * at most `bytes` bytes together, but at least one section remains.
 */
static void find_since(struct keep *keep, uint64_t bytes)
{
	ARRAY_OF(struct section) sections = { 0 };
	uint64_t size = 0;

	for (size_t i = 0; i < keep->pieces.count; i++) {
		const struct piece *piece = &keep->pieces.items[i];
		struct section *section;

		if (piece->begins || !sections.count)
			*ARRAY_ADD(&sections) = (struct section){ 0 };
		section = &sections.items[sections.count - 1];
		section->size += piece->size;
		if (piece->last_ns > section->last_ns)
			section->last_ns = piece->last_ns;
	}
	ARRAY_SORT(&sections, later_first);
	for (size_t i = 0; i < sections.count; i++) {
		size += sections.items[i].size;
		if (size > bytes && i) {
			keep->done.since_ns = sections.items[i].last_ns + 1;
			break;
		}
	}
	free(sections.items);
}

/* ---- a stream ---- */

/* Returns how many of the stream's first pieces are in sections that end before the kept part. */
static size_t count_old(const struct keep *keep, const struct piece *pieces, size_t count)
{
	size_t old = 0;

	for (size_t i = 1; i < count && pieces[i - 1].last_ns < keep->done.since_ns; i++)
		if (pieces[i].begins)
			old = i;
	return old;
}

static int put_stream(struct keep *keep, const struct piece *pieces, size_t count,
		      struct error *err)
{
	const struct piece *last = &pieces[count - 1];
	size_t old = count_old(keep, pieces, count);
	struct keep_stream *stream;
	bool is_idle = true;
	uint64_t before;
	int rc = 0;

	if (has_gone(keep, pieces->stream))
		return 0;
	stream = ARRAY_ADD(&keep->streams);
	/* first writes a section with the objects that were live at the end of the old sections */
	if (old) {
		cleanup_fd int section = memfd_create("holdtrace-keep", MFD_CLOEXEC);

		before = keep->writer.size;
		rc = section < 0 ? error_system(err, errno, "cannot create a section") : 0;
		if (rc == 0)
			rc = state_make(keep->old, pieces, old, keep->done.since_ns, section, err);
		if (rc == 0)
			rc = writer_take(&keep->writer, pieces->stream, section, err);
		keep->done.held += keep->writer.size - before;
	}
	before = keep->writer.size;
	for (size_t i = old; rc == 0 && i < count; i++) {
		rc = writer_put(&keep->writer, pieces[i].stream, keep->old, pieces[i].offset,
				pieces[i].size, err);
		is_idle &= pieces[i].last_ns < keep->done.since_ns;
	}
	keep->done.held += is_idle ? keep->writer.size - before : 0;
	*stream = (struct keep_stream){ .stream = last->stream };
	stream->less = last->place + last->size - *ARRAY_AT(&keep->writer.places, last->stream);
	return rc;
}

/* Returns the index after the last piece of the stream whose first piece is at index `first`. */
static size_t stream_end(const struct pieces *pieces, size_t first)
{
	size_t end = first + 1;

	while (end < pieces->count && pieces->items[end].stream == pieces->items[first].stream)
		end++;
	return end;
}

/* Copies what the collector has written in the meantime, until a round copies at most SMALL bytes.
 */
static int catch_up(struct keep *keep, struct error *err)
{
	uint64_t added = UINT64_MAX;
	int rc = 0;

	for (int i = 0; rc == 0 && i < ROUNDS_MAX && added > SMALL; i++) {
		uint64_t before = keep->pieces.read;

		keep->pieces.count = 0;
		rc = pieces_read(&keep->pieces, keep->old, before, err);
		for (size_t k = 0; rc == 0 && k < keep->pieces.count; k++) {
			const struct piece *piece = &keep->pieces.items[k];

			rc = writer_put(&keep->writer, piece->stream, keep->old, piece->offset,
					piece->size, err);
		}
		added = keep->pieces.read - before;
	}
	return rc;
}

static int write_answer(struct keep *keep, struct error *err)
{
	size_t size = keep->streams.count * sizeof(*keep->streams.items);

	keep->done.size = keep->writer.size;
	keep->done.streams = keep->streams.count;
	if (ftruncate(keep->exchange, 0) ||
	    pwrite(keep->exchange, &keep->done, sizeof(keep->done), 0) != sizeof(keep->done) ||
	    pwrite(keep->exchange, keep->streams.items, size, sizeof(keep->done)) != (ssize_t)size)
		return error_system(err, errno ? errno : EIO, "cannot write the result");
	return 0;
}

static int make_shorter(struct keep *keep, int to, const char *how, uint64_t number,
			struct error *err)
{
	const struct htr_bundle start = { .magic = HTR_MAGIC_BUNDLE,
					  .version = HTR_BUNDLE_VERSION };
	uint8_t bytes[HTR_SIZE_bundle];
	int rc = read_ended(keep, err);
	bool is_old = false;

	if (rc == 0)
		rc = pieces_read(&keep->pieces, keep->old, 0, err);
	pieces_sort(&keep->pieces);
	keep->done.since_ns = number;
	if (rc == 0 && !strcmp(how, "bytes")) {
		keep->done.since_ns = 0;
		find_since(keep, number);
	}
	for (size_t first = 0, end; !is_old && first < keep->pieces.count; first = end) {
		end = stream_end(&keep->pieces, first);
		is_old = has_gone(keep, keep->pieces.items[first].stream) ||
			 count_old(keep, &keep->pieces.items[first], end - first);
	}
	if (rc == 0 && !is_old)
		return write_answer(keep, err);
	keep->writer.fd = to;
	htr_put_bundle(bytes, &start);
	if (rc == 0)
		rc = write_all(&keep->writer, bytes, sizeof(bytes), err);
	for (size_t first = 0, end; rc == 0 && first < keep->pieces.count; first = end) {
		end = stream_end(&keep->pieces, first);
		rc = put_stream(keep, &keep->pieces.items[first], end - first, err);
	}
	if (rc == 0)
		rc = catch_up(keep, err);
	keep->done.read = keep->pieces.read;
	return rc ? rc : write_answer(keep, err);
}

static int answers_to; /* descriptor of the exchange file, for write_error() */

/* Writes the error to the exchange file, for the collector; no process reads standard error. */
static void write_error(const char *text)
{
	if (ftruncate(answers_to, 0) || pwrite(answers_to, text, strlen(text), 0) < 0)
		_exit(1);
}

static void end_without_memory(void)
{
	write_error("out of memory");
	_exit(KEEP_SAID);
}

int main(int argc, char **argv)
{
	struct keep keep = { 0 };
	struct error err = { 0 };
	int rc;
	int about = options_about(argc, argv, usage);

	if (about >= 0)
		return about;
	if (argc != 6 || (strcmp(argv[4], "since") != 0 && strcmp(argv[4], "bytes") != 0)) {
		fputs(usage, stderr);
		return 2;
	}
	resource_limits_begin();
	/* the trace is hostile input; all files were opened before the sandbox */
	sandbox_enter(&(struct sandbox_options){ .grows_to = UINT64_MAX });
	keep.old = atoi(argv[1]);
	keep.exchange = answers_to = atoi(argv[3]);
	memory_set_end(end_without_memory);
	rc = make_shorter(&keep, atoi(argv[2]), argv[4], strtoull(argv[5], NULL, 10), &err);
	if (rc)
		write_error(err.text);
	pieces_free(&keep.pieces);
	free(keep.writer.places.items);
	free(keep.writer.bytes);
	free(keep.ended.items);
	free(keep.streams.items);
	/* in builds with sanitizers, the leak checker cannot run in the sandbox */
	_exit(rc ? KEEP_SAID : 0);
}
