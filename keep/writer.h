/* SPDX-License-Identifier: MIT */
#ifndef KEEP_WRITER_H
#define KEEP_WRITER_H

/*
 * Writes the new file of a shortened trace. Each piece gets the place that it has in the new file.
 */

#include "base/array.h"
#include "keep/pieces.h"

struct writer {
	int fd;
	uint64_t size; /* size of the file */
	/* by stream: the place of the stream's next piece */
	ARRAY_OF(uint64_t) places;
	uint8_t *bytes; /* buffer for a piece with its header */
	size_t room;
};

/*
 * Begins the file. Returns 0 or a negative errno. The caller must call writer_free() in either
 * case.
 */
int writer_begin(struct writer *writer, int fd, struct error *err);
void writer_free(struct writer *writer);

/* Returns the place of the stream's next piece. */
uint64_t writer_place(const struct writer *writer, uint32_t stream);

/* Copies a piece of another file. Returns 0 or a negative errno. */
int writer_copy(struct writer *writer, int from, const struct piece *piece, struct error *err);

/*
 * Copies a section from a separate file, as pieces: its start, its blocks, and its index with the
 * end. Returns 0 or a negative errno.
 */
int writer_take(struct writer *writer, uint32_t stream, int from, struct error *err);

#endif
