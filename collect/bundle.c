/* SPDX-License-Identifier: MIT */
#include "collect/bundle.h"

#include "base/checksum.h"
#include "htr_table.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#define SMALL (64u << 10) /* written at once with its header */

struct bundle {
	struct sink begun; /* as it was then: the merge reads it while others write */
	struct sink sink;
	pthread_mutex_t lock;
	/* behind the lock, and the sink's position, too */
	bool is_begun; /* the file has its start */
	uint8_t buffer[HTR_SIZE_piece + SMALL];
	uint32_t streams; /* the merge's alone */
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
	return (struct bundle_stream){ .bundle = bundle, .number = bundle->streams++ };
}

void bundle_rest(struct bundle *bundle)
{
	flock(bundle->sink.fd, LOCK_UN);
}

const struct sink *bundle_sink(const struct bundle *bundle)
{
	return &bundle->begun;
}

/* Writes all of it. Fails with how much must be taken back in *written. */
static int append(struct bundle *bundle, const void *bytes, size_t size, size_t *written,
		  struct error *err)
{
	size_t wrote = 0;
	int ret = sink_write(&bundle->sink, bytes, size, &wrote, err);

	*written += wrote;
	return ret;
}

static int begin_file(struct bundle *bundle, size_t *written, struct error *err)
{
	const struct htr_bundle start = { .magic = HTR_MAGIC_BUNDLE,
					  .version = HTR_BUNDLE_VERSION };
	uint8_t bytes[HTR_SIZE_bundle];

	if (bundle->is_begun)
		return 0;
	htr_put_bundle(bytes, &start);
	return append(bundle, bytes, sizeof(bytes), written, err);
}

static void put_header(uint8_t *at, const struct bundle_stream *stream, size_t size)
{
	struct htr_piece piece = { .magic = HTR_MAGIC_PIECE,
				   .stream = stream->number,
				   .size = (uint32_t)size,
				   .place = stream->place };

	htr_put_piece(at, &piece);
	piece.check = checksum(0, at + 8, HTR_SIZE_piece - 8);
	htr_put_piece(at, &piece);
}

static int write_piece(struct bundle *bundle, const struct bundle_stream *stream, const void *bytes,
		       size_t size, size_t *written, struct error *err)
{
	int ret = begin_file(bundle, written, err);

	if (ret < 0)
		return ret;
	put_header(bundle->buffer, stream, size);
	if (size <= SMALL) {
		memcpy(bundle->buffer + HTR_SIZE_piece, bytes, size);
		return append(bundle, bundle->buffer, HTR_SIZE_piece + size, written, err);
	}
	ret = append(bundle, bundle->buffer, HTR_SIZE_piece, written, err);
	return ret < 0 ? ret : append(bundle, bytes, size, written, err);
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
	free(bundle);
}
