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

struct source {
	int fd;
	unsigned char *buffer;
	size_t start, end, capacity; /* unread bytes are buffer[start .. end) */
	uint64_t offset;	     /* of buffer[start] in the (decompressed) input */
	bool is_finished;	     /* nothing comes behind buffer[end) */
	struct source_zstd *zstd;    /* NULL: plain */
	uint64_t packed_offset;	     /* compressed bytes that were read */
	const char *damage;	     /* why the compressed input ended early, or NULL */
};

/* Reads the first bytes of fd. Returns 0, -ENODATA if there are none, or another -errno. */
int source_open(struct source *source, int fd, struct error *err);

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
