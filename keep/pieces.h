/* SPDX-License-Identifier: MIT */
#ifndef KEEP_PIECES_H
#define KEEP_PIECES_H

/*
 * The pieces of a file with several streams: where they are, and the time of their events. A stream
 * consists of sections. Each can be read without those before it, except for the identity of the
 * process, its classes and its mappings. Our writers make a piece of each start, block and index.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct piece {
	uint32_t stream, size;
	uint64_t offset;  /* of its contents, after the header */
	uint64_t place;	  /* offset in its stream */
	uint64_t last_ns; /* latest time of its events; 0: no events */
	bool begins;	  /* it is the start of a section */
};

struct pieces {
	struct piece *items; /* after pieces_sort(): by stream, then by offset */
	size_t count, capacity;
	uint64_t read; /* end of the last complete piece in the file */
};

/*
 * Reads the pieces of the file from the start (from 0) or from the end of an earlier piece. Returns
 * 0 or a negative errno.
 */
int pieces_read(struct pieces *pieces, int fd, uint64_t from, struct error *err);
void pieces_sort(struct pieces *pieces);
void pieces_free(struct pieces *pieces);

#endif
