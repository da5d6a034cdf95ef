/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_PACK_H
#define COLLECT_PACK_H

/*
 * Makes the contents of an .htr container: its header, its blocks, which are compressed with zstd,
 * and its index. The caller must write each piece completely. A file that lacks its last pieces is
 * still readable.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/htr.h"

struct pack;

struct pack_piece {
	const uint8_t *bytes; /* valid until the next call with this pack */
	size_t size;
};

/* Returns NULL if there is no memory. level: compression level of zstd. */
struct pack *pack_create(int level);
void pack_destroy(struct pack *pack);

/* Begins a stream: returns the header of the file, which precedes the first block. */
struct pack_piece pack_start(struct pack *pack);

/* Compresses a block to *piece. The caller still owns the block. Returns 0, or a negative errno. */
int pack_block(struct pack *pack, const struct htr_block_parts *parts, struct pack_piece *piece,
	       struct error *err);

/*
 * Returns the index, which ends the stream. If there is no memory, the returned piece has size 0;
 * the stream is readable without an index.
 */
struct pack_piece pack_end(struct pack *pack);

#endif
