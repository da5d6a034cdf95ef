/* SPDX-License-Identifier: MIT */
#include "trace/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/memory.h"

#define SOURCE_WINDOW (256u << 10) /* in bytes; the window fits into a second-level cache */

struct source_zstd {
	ZSTD_DStream *stream;
	ZSTD_inBuffer input;
	unsigned char *packed;
	size_t capacity;
	size_t hint; /* result of the last ZSTD_decompressStream(); 0: between frames */
};

/* Reads from the current extent, at the current position. */
static ssize_t read_part(struct source *source, void *bytes, size_t size)
{
	const struct source_extent *extent;
	ssize_t count;

	while (source->extent < source->extent_count &&
	       source->extent_at == source->extents[source->extent].size) {
		source->extent++;
		source->extent_at = 0;
	}
	if (source->extent == source->extent_count)
		return 0;
	extent = &source->extents[source->extent];
	if (size > extent->size - source->extent_at)
		size = (size_t)(extent->size - source->extent_at);
	count = pread(source->fd, bytes, size, (off_t)(extent->offset + source->extent_at));
	if (count > 0)
		source->extent_at += (uint64_t)count;
	return count;
}

static int source_read(struct source *source, void *bytes, size_t size, struct error *err)
{
	ssize_t count;

	if (source->taken)
		__atomic_store_n(source->taken, source->read, __ATOMIC_RELEASE);
	count = source->extents ? read_part(source, bytes, size) : read(source->fd, bytes, size);
	if (count < 0)
		return error_system(err, errno, "cannot read");
	source->read += (uint64_t)count;
	return (int)count;
}

/* Moves the bytes read so far, which start with zstd's magic, to a buffer for compressed data. */
static int source_open_zstd(struct source *source, struct error *err)
{
	struct source_zstd *zstd = memory_zalloc(1, sizeof(*zstd));

	source->zstd = zstd;
	if (zstd) {
		zstd->stream = ZSTD_createDStream();
		zstd->capacity = SOURCE_WINDOW;
		zstd->packed = memory_alloc(zstd->capacity);
	}
	if (!zstd || !zstd->stream || !zstd->packed)
		return error_system(err, ENOMEM, "cannot allocate buffers for zstd");
	memcpy(zstd->packed, source_at(source), source_left(source));
	zstd->input.src = zstd->packed;
	zstd->input.size = source_left(source);
	source->packed_offset = source_left(source);
	zstd->hint = 1;
	source->start = source->end = 0;
	source->is_finished = false;
	return source_fill(source, 1, err);
}

int source_open(struct source *source, int fd, struct error *err)
{
	static const unsigned char magic[] = { 0x28, 0xb5, 0x2f, 0xfd };
	int rc;

	memset(source, 0, sizeof(*source));
	source->fd = fd;
	rc = source_fill(source, sizeof(magic), err);
	if (rc)
		return rc;
	if (source_left(source) == 0)
		return error_set(err, ENODATA,
				 "is empty: nothing was recorded, or the tracer was not loaded");
	if (source_left(source) < sizeof(magic) || memcmp(source_at(source), magic, sizeof(magic)))
		return 0;
	rc = source_open_zstd(source, err);
	if (rc)
		return rc;
	if (source_left(source) == 0)
		return error_set(err, ENODATA, "is compressed, but contains no data%s%s",
				 source->damage ? ": " : "", source->damage ? source->damage : "");
	return 0;
}

int source_open_parts(struct source *source, int fd, const struct source_extent *extents,
		      size_t count, struct error *err)
{
	*source = (struct source){ .fd = fd, .extents = extents, .extent_count = count };
	return source_fill(source, 1, err);
}

uint64_t source_size(const struct source *source)
{
	struct stat facts;
	uint64_t size = 0;

	for (size_t i = 0; i < source->extent_count; i++)
		size += source->extents[i].size;
	if (source->extents)
		return size;
	return fstat(source->fd, &facts) == 0 && S_ISREG(facts.st_mode) ? (uint64_t)facts.st_size
									: 0;
}

/*
 * Decompresses up to `size` bytes. Returns their number, 0 at the end or at damage, or a negative
 * errno.
 */
static int source_unpack(struct source *source, unsigned char *bytes, size_t size,
			 struct error *err)
{
	struct source_zstd *zstd = source->zstd;
	ZSTD_outBuffer output = { bytes, size, 0 };

	while (output.pos == 0) {
		size_t hint;

		if (zstd->input.pos == zstd->input.size) {
			int count = source_read(source, zstd->packed, zstd->capacity, err);

			if (count < 0)
				return count;
			if (count == 0) {
				if (zstd->hint)
					source->damage = "the compressed data end inside a frame";
				return 0;
			}
			zstd->input.size = (size_t)count;
			zstd->input.pos = 0;
			source->packed_offset += (size_t)count;
		}
		hint = ZSTD_decompressStream(zstd->stream, &output, &zstd->input);
		if (ZSTD_isError(hint)) {
			source->damage = "the compressed data are damaged";
			return (int)output.pos;
		}
		zstd->hint = hint;
	}
	return (int)output.pos;
}

static int source_make_room(struct source *source, size_t wanted, struct error *err)
{
	size_t left = source_left(source);

	if (source->capacity - source->start >= wanted && source->end < source->capacity)
		return 0;
	if (left)
		memmove(source->buffer, source->buffer + source->start, left);
	source->start = 0;
	source->end = left;
	if (source->capacity < wanted || !source->buffer) {
		/*
		 * Allocates four times the requested size, because a search may extend its request
		 * byte by byte.
		 */
		size_t capacity = wanted > SOURCE_WINDOW ? 4 * wanted : SOURCE_WINDOW;
		unsigned char *grown = memory_resize(source->buffer, capacity);

		if (!grown)
			return error_system(err, ENOMEM, "cannot allocate a buffer of %zu bytes",
					    capacity);
		source->buffer = grown;
		source->capacity = capacity;
	}
	return 0;
}

int source_fill(struct source *source, size_t wanted, struct error *err)
{
	while (source_left(source) < wanted && !source->is_finished) {
		int rc = source_make_room(source, wanted, err);
		size_t room = source->capacity - source->end;

		if (rc)
			return rc;
		if (room > (1u << 20))
			room = 1u << 20;
		rc = source->zstd ? source_unpack(source, source->buffer + source->end, room, err)
				  : source_read(source, source->buffer + source->end, room, err);
		if (rc < 0)
			return rc;
		source->end += (size_t)rc;
		source->is_finished = rc == 0 || source->damage;
	}
	return 0;
}

/* Skips `size` bytes of the extents, at most to the end of the last extent. */
static void skip_parts(struct source *source, uint64_t size)
{
	while (size && source->extent < source->extent_count) {
		uint64_t left = source->extents[source->extent].size - source->extent_at;
		uint64_t step = size < left ? size : left;

		source->extent_at += step;
		source->offset += step;
		size -= step;
		if (step == left) {
			source->extent++;
			source->extent_at = 0;
		}
	}
}

int source_skip_far(struct source *source, uint64_t size, struct error *err)
{
	size_t left = source_left(source);
	struct stat facts;
	int rc;

	if (size > left && source->extents) {
		source->offset += left;
		source->start = source->end = 0;
		skip_parts(source, size - left);
		return 0;
	}

	if (size > left && !source->zstd && !source->is_finished) {
		off_t place = lseek(source->fd, 0, SEEK_CUR), step = (off_t)(size - left);

		/* does not seek beyond the end of the file: a hostile trace may state any size */
		if (place >= 0 && fstat(source->fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
		    place <= facts.st_size && size - left <= (uint64_t)(facts.st_size - place) &&
		    lseek(source->fd, step, SEEK_CUR) >= 0) {
			source->start = source->end = 0;
			source->offset += size;
			return 0;
		}
	}
	while (size) {
		rc = source_fill(source, 1, err);
		left = source_left(source);
		if (rc || !left)
			return rc;
		if (left > size)
			left = (size_t)size;
		source_skip(source, left);
		size -= left;
	}
	return 0;
}

size_t source_peek(const struct source *source, int64_t offset, void *bytes, size_t size)
{
	struct stat facts;
	ssize_t count;

	if (source->extents) {
		uint64_t all = source_size(source);
		struct source parts = { .fd = source->fd,
					.extents = source->extents,
					.extent_count = source->extent_count };
		size_t got = 0;

		if (offset < 0 && (uint64_t)-offset > all)
			return 0;
		skip_parts(&parts, offset < 0 ? all - (uint64_t)-offset : (uint64_t)offset);
		while (got < size) {
			count = read_part(&parts, (char *)bytes + got, size - got);
			if (count <= 0)
				break;
			got += (size_t)count;
		}
		return got;
	}
	if (source->zstd || fstat(source->fd, &facts) != 0 || !S_ISREG(facts.st_mode))
		return 0;
	if (offset < 0)
		offset += facts.st_size;
	count = offset < 0 ? -1 : pread(source->fd, bytes, size, (off_t)offset);
	return count < 0 ? 0 : (size_t)count;
}

void source_close(struct source *source)
{
	if (source->zstd) {
		ZSTD_freeDStream(source->zstd->stream);
		free(source->zstd->packed);
		free(source->zstd);
	}
	free(source->buffer);
	memset(source, 0, sizeof(*source));
}
