/* SPDX-License-Identifier: MIT */
#ifndef KEEP_WRITER_H
#define KEEP_WRITER_H

/* The new file: pieces again, with the places that they have there. */

#include "keep/pieces.h"

struct writer {
	int fd;
	uint64_t size; /* of the file */
	struct {
		uint64_t *items; /* by stream: where its next piece is to stand */
		size_t count, capacity;
	} places;
	uint8_t *bytes; /* room for a piece with its header */
	size_t room;
};

/* Begins the file. Returns 0 or a negative errno; writer_free() in any case. */
int writer_begin(struct writer *writer, int fd, struct error *err);
void writer_free(struct writer *writer);

/* The next place of a stream. */
uint64_t writer_place(const struct writer *writer, uint32_t stream);

/* A piece of another file, as it is. */
int writer_copy(struct writer *writer, int from, const struct piece *piece, struct error *err);

/* A whole section in a file of its own, from its start to the end of its index. */
int writer_take(struct writer *writer, uint32_t stream, int from, struct error *err);

#endif
