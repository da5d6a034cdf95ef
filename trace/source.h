/* SPDX-License-Identifier: MIT */
#ifndef SOURCE_H
#define SOURCE_H

/*
 * The bytes of a trace: a descriptor, through zstd if that is what its first bytes say, as a
 * window that moves forward. Nothing here knows packets or lines.
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
	const struct source_extent *extents; /* NULL: all of the file */
	size_t extent_count, extent;	     /* the one that is read */
	uint64_t extent_at;		     /* so much of it was */
	unsigned char *buffer;
	size_t start, end, capacity; /* unread bytes are buffer[start .. end) */
	uint64_t offset;	     /* of buffer[start] in the (decompressed) input */
	bool is_finished;	     /* nothing comes behind buffer[end) */
	struct source_zstd *zstd;    /* NULL: plain */
	uint64_t packed_offset;	     /* compressed bytes that were read */
	const char *damage;	     /* why the compressed input ended early, or NULL */
	uint64_t *taken; /* bytes that were read, told before more are; NULL: nobody asks */
	uint64_t read;	 /* bytes that were, where somebody does */
};

/* Reads the first bytes of fd. Returns 0, -ENODATA if there are none, or another -errno. */
int source_open(struct source *source, int fd, struct error *err);

/*
 * The same of what stands in these parts of a regular file, one behind the other: never through
 * zstd. extents outlive the source.
 */
int source_open_parts(struct source *source, int fd, const struct source_extent *extents,
		      size_t count, struct error *err);

/* Bytes of the input, through no zstd; 0: not known. */
uint64_t source_size(const struct source *source);

/*
 * Makes sure that wanted bytes are in the window, if the input has as many: asks source_left()
 * afterwards. Pointers into the window move. Returns 0 or a negative errno.
 */
int source_fill(struct source *source, size_t wanted, struct error *err);

/*
 * Steps over size bytes without reading them, where the input can do that. Returns 0 or a negative
 * errno; the input may end before.
 */
int source_skip_far(struct source *source, uint64_t size, struct error *err);

/*
 * Reads what stands at a place of a plain file, apart from the window. offset: from the end if it
 * is negative. Returns how much was there, 0 if the input is no such file.
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

/* As source_fill(), without a call while the window has enough. */
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
