/* SPDX-License-Identifier: MIT */
#include "collect/bundle.h"

#include "base/array.h"
#include "base/checksum.h"
#include "base/lock.h"
#include "htr_table.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define SMALL (64u << 10) /* pieces up to this size are written together with their header */

struct bundle {
	/* copy of `sink` at the start, which the merge reads while other threads write to `sink` */
	struct sink begun;
	struct sink sink;
	pthread_mutex_t lock;
	/* the lock guards the members from here to `less`, and the sink's position */
	bool is_begun; /* the file has its header */
	uint8_t buffer[HTR_SIZE_piece + SMALL];
	/* indexed by stream: how many of its bytes bundle_shorten() has removed from the file */
	ARRAY_OF(uint64_t) less;
	/* only the merge uses the members below */
	uint32_t streams;
	bool is_live;
};

struct bundle *bundle_create(struct sink *sink)
{
	struct bundle *bundle = calloc(1, sizeof(*bundle));

	if (!bundle)
		return NULL;
	pthread_mutex_init(&bundle->lock, NULL);
	bundle->begun = bundle->sink = *sink;
	sink->fd = -1;
	return bundle;
}

struct bundle_stream bundle_begin(struct bundle *bundle)
{
	flock(bundle->sink.fd, LOCK_EX | LOCK_NB);
	bundle->is_live = true;
	return (struct bundle_stream){ .bundle = bundle, .number = bundle->streams++ };
}

void bundle_rest(struct bundle *bundle)
{
	flock(bundle->sink.fd, LOCK_UN);
	bundle->is_live = false;
}

const struct sink *bundle_sink(const struct bundle *bundle)
{
	return &bundle->begun;
}

/* Writes all bytes. Adds the number of written bytes to *written, even on failure. */
static int bundle_append(struct bundle *bundle, const void *bytes, size_t size, size_t *written,
			 struct error *err)
{
	size_t wrote = 0;
	int ret = sink_write(&bundle->sink, bytes, size, &wrote, err);

	*written += wrote;
	return ret;
}

static void put_header(uint8_t *at, uint32_t stream, uint64_t place, size_t size)
{
	struct htr_piece piece = {
		.magic = HTR_MAGIC_PIECE, .stream = stream, .size = (uint32_t)size, .place = place
	};

	htr_put_piece(at, &piece);
	piece.check = checksum(0, at + 8, HTR_SIZE_piece - 8);
	htr_put_piece(at, &piece);
}

static int write_piece(struct bundle *bundle, const struct bundle_stream *stream, const void *bytes,
		       size_t size, size_t *written, struct error *err)
{
	uint64_t less =
		stream->number < bundle->less.count ? bundle->less.items[stream->number] : 0;
	const struct htr_bundle start = { .magic = HTR_MAGIC_BUNDLE,
					  .version = HTR_BUNDLE_VERSION };
	int ret;

	if (!bundle->is_begun) {
		htr_put_bundle(bundle->buffer, &start);
		ret = bundle_append(bundle, bundle->buffer, HTR_SIZE_bundle, written, err);
		if (ret < 0)
			return ret;
	}
	put_header(bundle->buffer, stream->number, stream->place - less, size);
	if (size <= SMALL) {
		memcpy(bundle->buffer + HTR_SIZE_piece, bytes, size);
		return bundle_append(bundle, bundle->buffer, HTR_SIZE_piece + size, written, err);
	}
	ret = bundle_append(bundle, bundle->buffer, HTR_SIZE_piece, written, err);
	return ret < 0 ? ret : bundle_append(bundle, bytes, size, written, err);
}

int bundle_write(struct bundle_stream *stream, const void *bytes, size_t size, struct error *err)
{
	struct bundle *bundle = stream->bundle;
	size_t written = 0;
	int ret;

	if (!size)
		return 0;
	pthread_mutex_lock(&bundle->lock);
	ret = write_piece(bundle, stream, bytes, size, &written, err);
	if (ret < 0)
		sink_cut(&bundle->sink, written);
	bundle->is_begun |= ret == 0;
	pthread_mutex_unlock(&bundle->lock);
	if (ret == 0)
		stream->place += size;
	return ret;
}

/* ---- a shorter file ---- */

uint64_t bundle_size(struct bundle *bundle)
{
	cleanup_unlock pthread_mutex_t *lock = lock_mutex(&bundle->lock);

	return bundle->sink.size;
}

static bool copy_bytes(int from, uint64_t at, int to, uint64_t end, uint64_t size)
{
	uint8_t bytes[16384];

	while (size) {
		ssize_t got =
			pread(from, bytes, size < sizeof(bytes) ? size : sizeof(bytes), (off_t)at);

		if (got <= 0 || pwrite(to, bytes, (size_t)got, (off_t)end) != got)
			return false;
		at += (uint64_t)got;
		end += (uint64_t)got;
		size -= (uint64_t)got;
	}
	return true;
}

/*
 * Appends to `to` the pieces of `from` between the offsets done->read and `to_end`, with reduced
 * offsets in their streams. Returns the new size of `to`, or 0 on failure.
 */
static uint64_t copy_rest(int from, uint64_t to_end, int to, const struct keep_done *done,
			  const struct keep_stream *streams)
{
	uint64_t end = done->size;

	for (uint64_t at = done->read; at < to_end;) {
		uint8_t bytes[HTR_SIZE_piece];
		struct htr_piece piece;
		uint64_t less = 0;

		if (pread(from, bytes, sizeof(bytes), (off_t)at) != (ssize_t)sizeof(bytes))
			return 0;
		htr_get_piece(bytes, &piece);
		if (piece.magic != HTR_MAGIC_PIECE)
			return 0;
		for (uint64_t i = 0; i < done->streams; i++)
			if (streams[i].stream == piece.stream)
				less = streams[i].less;
		put_header(bytes, piece.stream, piece.place - less, piece.size);
		if (pwrite(to, bytes, sizeof(bytes), (off_t)end) != (ssize_t)sizeof(bytes) ||
		    !copy_bytes(from, at + sizeof(bytes), to, end + sizeof(bytes), piece.size))
			return 0;
		at += sizeof(bytes) + piece.size;
		end += sizeof(bytes) + piece.size;
	}
	return end;
}

int bundle_shorten(struct bundle *bundle, struct sink_next *next, const struct keep_done *done,
		   const struct keep_stream *streams, struct error *err)
{
	cleanup_unlock pthread_mutex_t *lock = lock_mutex(&bundle->lock);
	bool has_room = true;
	char path[32];
	uint64_t size;
	int ret, from;

	/* opens the file again, since bundle->sink.fd is write-only */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", bundle->sink.fd);
	from = open(path, O_RDONLY | O_CLOEXEC);
	size = from < 0 ? 0 : copy_rest(from, bundle->sink.size, next->fd, done, streams);
	if (from >= 0)
		close(from);
	for (uint64_t i = 0; i < done->streams; i++)
		has_room &= ARRAY_REACH(&bundle->less, streams[i].stream);
	if (!size || !has_room) {
		sink_forget_next(&bundle->sink, next);
		return error_set(err, EIO, "cannot copy the end of %s", bundle->sink.name);
	}
	ret = sink_succeed(&bundle->sink, next, size, bundle->is_live, err);
	for (uint64_t i = 0; ret == 0 && i < done->streams; i++)
		bundle->less.items[streams[i].stream] += streams[i].less;
	return ret;
}

void bundle_close(struct bundle *bundle)
{
	struct error ignored;

	if (!bundle)
		return;
	if (bundle->is_begun)
		sink_close(&bundle->sink, &ignored);
	else
		sink_discard(&bundle->sink);
	pthread_mutex_destroy(&bundle->lock);
	free(bundle->less.items);
	free(bundle);
}
