/* SPDX-License-Identifier: MIT */
#ifndef SOURCE_H
#define SOURCE_H

/*
 * The bytes of a trace. A source reads a descriptor, decompresses zstd (recognised by its first
 * bytes) and provides a window of bytes that moves forward. A source knows neither packets nor
 * lines.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct source_zstd;

/* A part of a file. */
struct source_extent {
	uint64_t offset, size;
};

struct source {
	int fd;
	const struct source_extent *extents; /* parts to read; NULL: the whole file */
	size_t extent_count, extent;	     /* extent: index of the current extent */
	uint64_t extent_at;		     /* bytes read from the current extent */
	unsigned char *buffer;
	size_t start, end, capacity; /* unread bytes are buffer[start .. end) */
	uint64_t offset;	     /* offset of buffer[start] in the (decompressed) input */
	bool is_finished;	     /* the input ends at buffer[end) */
	struct source_zstd *zstd;    /* NULL: the input is not compressed */
	uint64_t packed_offset;	     /* number of compressed bytes read */
	const char *damage;	     /* why the compressed input ended early, or NULL */
	/* before each read(), *taken is set to the value of `read`; NULL: not wanted */
	uint64_t *taken;
	uint64_t read; /* number of bytes read so far */
};

/* Opens fd and reads its first bytes. Returns 0, -ENODATA (empty) or another negative errno. */
int source_open(struct source *source, int fd, struct error *err);

/*
 * Like source_open(), but for parts of a regular file, which are read as if they were one input.
 * The parts are never compressed. `extents` must outlive the source.
 */
int source_open_parts(struct source *source, int fd, const struct source_extent *extents,
		      size_t count, struct error *err);

/* Returns the size of the input as it is stored (perhaps compressed), or 0 if it is unknown. */
uint64_t source_size(const struct source *source);

/*
 * Reads until the window holds `wanted` bytes or the input ends; callers check source_left().
 * Invalidates pointers into the window. Returns 0 or a negative errno.
 */
int source_fill(struct source *source, size_t wanted, struct error *err);

/*
 * Skips `size` bytes, but not beyond the end of the input. If the input is seekable, the skipped
 * bytes are not read. Returns 0 or a negative errno.
 */
int source_skip_far(struct source *source, uint64_t size, struct error *err);

/*
 * Reads bytes at an offset of a regular file without moving the window. A negative offset is
 * relative to the end. Returns the number of bytes read, 0 if the input is not a regular file.
 */
size_t source_peek(const struct source *source, int64_t offset, void *bytes, size_t size);

void source_close(struct source *source);

static inline size_t source_left(const struct source *source)
{
	return source->end - source->start;
}

static inline const unsigned char *source_at(const struct source *source)
{
	return source->buffer + source->start;
}

/* The inline fast path of source_fill(). */
static inline int source_need(struct source *source, size_t wanted, struct error *err)
{
	if (source_left(source) >= wanted || source->is_finished)
		return 0;
	return source_fill(source, wanted, err);
}

static inline void source_skip(struct source *source, size_t size)
{
	source->start += size;
	source->offset += size;
}

#endif
