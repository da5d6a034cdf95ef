/* SPDX-License-Identifier: MIT */
#ifndef KEEP_PIECES_H
#define KEEP_PIECES_H

/*
 * The pieces of a file with several streams: their positions, and the latest time of their events.
 * A stream consists of sections. A section can be read without the sections before it, except for
 * the identity of the process, its classes and its mappings. The collector and holdtrace-keep write
 * each start, block and index as a separate piece.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct piece {
	uint32_t stream, size;
	/* offset of the contents, which follow the piece's header */
	uint64_t offset;
	uint64_t place;	  /* offset of the piece in its stream */
	uint64_t last_ns; /* latest time of the piece's events; 0: no events */
	bool begins;	  /* whether the piece is the start of a section */
};

struct pieces {
	/* in the order of the file; after pieces_sort(), by stream, then by offset */
	struct piece *items;
	size_t count, capacity;
	uint64_t read; /* end of the last complete piece in the file */
};

/*
 * Reads the pieces of the file: from the start if `from` is 0, otherwise from the end of an earlier
 * piece. Adds them to the list. Returns 0 or a negative errno.
 */
int pieces_read(struct pieces *pieces, int fd, uint64_t from, struct error *err);
void pieces_sort(struct pieces *pieces);
void pieces_free(struct pieces *pieces);

#endif
