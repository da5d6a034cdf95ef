/* SPDX-License-Identifier: MIT */
#ifndef VIEWERS_PACKED_H
#define VIEWERS_PACKED_H

/*
 * Writes a gzip file piece by piece. The file has no time stamp, so that equal contents give equal
 * files.
 */

#include <stddef.h>
#include <zlib.h>

#include "base/error.h"
#include "base/out.h"

struct packed {
	struct out *out;
	z_stream stream;
	unsigned char buffer[16 << 10];
};

void packed_begin(struct packed *packed, struct out *out);

void packed_bytes(struct packed *packed, const void *bytes, size_t size);
void packed_format(struct packed *packed, const char *format, ...)
	__attribute__((format(printf, 2, 3))); /* the text may have at most 1 KiB */

/* Writes the remaining compressed bytes and frees the stream. */
void packed_end(struct packed *packed);

#endif
