/* SPDX-License-Identifier: MIT */
#ifndef KEEP_WRITER_H
#define KEEP_WRITER_H

/* Writes the new file: pieces, with the places that they have in it. */

#include "base/array.h"
#include "keep/pieces.h"

struct writer {
	int fd;
	uint64_t size;		   /* of the file */
	ARRAY_OF(uint64_t) places; /* by stream: the place of its next piece */
	uint8_t *bytes;		   /* buffer for a piece with its header */
	size_t room;
};

/* Begins the file. Returns 0 or a negative errno; call writer_free() in either case. */
int writer_begin(struct writer *writer, int fd, struct error *err);
void writer_free(struct writer *writer);

/* The place of the stream's next piece. */
uint64_t writer_place(const struct writer *writer, uint32_t stream);

/* Copies a piece of another file. */
int writer_copy(struct writer *writer, int from, const struct piece *piece, struct error *err);

/* Copies a section from a file of its own, as pieces: from its start to the end of its index. */
int writer_take(struct writer *writer, uint32_t stream, int from, struct error *err);

#endif
