/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_PACK_H
#define COLLECT_PACK_H

/*
 * The bytes of an .htr container: its start, its blocks compressed by zstd, its index. Each piece
 * must be written whole; a file that lacks later pieces is readable.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "collect/htr.h"

struct pack;

struct pack_piece {
	const uint8_t *bytes; /* valid until the next call */
	size_t size;
};

/* NULL: no memory. level: of zstd. */
struct pack *pack_create(int level);
void pack_destroy(struct pack *pack);

/* The start of a stream, before the first block. */
struct pack_piece pack_start(struct pack *pack);

/* Compresses a block, which stays the caller's. Returns 0, or a negative errno. */
int pack_block(struct pack *pack, const struct htr_block_parts *parts, struct pack_piece *piece,
	       struct error *err);

/* The index and the end of the stream. Size 0: no memory; the stream is readable without them. */
struct pack_piece pack_end(struct pack *pack);

#endif
