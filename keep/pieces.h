/* SPDX-License-Identifier: MIT */
#ifndef KEEP_PIECES_H
#define KEEP_PIECES_H

/*
 * A file of several streams, as pieces: where they stand, what they begin, when their events were.
 * A stream is sections, each of which can be read without those before it but for who the process
 * is, its classes and its mappings. Our writers make a piece of each start, block and index.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct piece {
	uint32_t stream, size;
	uint64_t offset;  /* of its bytes, behind the header */
	uint64_t place;	  /* in its stream */
	uint64_t last_ns; /* latest time of its events; 0: it has none */
	bool begins;	  /* a section */
};

struct pieces {
	struct piece *items; /* by stream, then in order */
	size_t count, capacity;
	uint64_t read; /* the end of the last whole one in the file */
};

/* Those of the file from the start (0) or a place between two on. Returns 0 or a negative errno. */
int pieces_read(struct pieces *pieces, int fd, uint64_t from, struct error *err);
void pieces_sort(struct pieces *pieces);
void pieces_free(struct pieces *pieces);

#endif
