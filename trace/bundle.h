/* SPDX-License-Identifier: MIT */
#ifndef TRACE_BUNDLE_H
#define TRACE_BUNDLE_H

/*
 * Files that contain the streams of several processes (htr.def): finds the pieces of each stream. A
 * stream of such a file is an input by itself, named FILE#N, where N is the stream's number in its
 * pieces. FILE alone is all streams, one after the other.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/source.h"

/* The part of a file that belongs to one stream. */
struct bundle_stream {
	uint32_t number;     /* streams without a piece have no entry */
	size_t first, count; /* of its extents */
	uint64_t size;	     /* bytes present */
	bool has_start;	     /* its first byte is present */
	uint64_t missing;    /* bytes missing between pieces */
	uint64_t missing_at; /* file offset where the first gap is noticed */
};

struct bundle {
	struct source_extent *extents; /* grouped by stream */
	struct bundle_stream *streams;
	size_t extent_count, stream_count;
};

/*
 * Finds the pieces of a file with several streams. is_live: the file is still being written, so an
 * incomplete last piece is ignored; otherwise the last piece may be cut. Returns 0, -EPROTO (a
 * newer version), -ENODATA (no piece), -ENOMEM or an error of read().
 */
int bundle_read(struct bundle *bundle, int fd, bool is_live, struct error *err);

/* The stream with that number, or NULL. */
const struct bundle_stream *bundle_stream_at(const struct bundle *bundle, size_t number);

/* True if a file that starts with these bytes contains several streams. */
bool bundle_recognises(const unsigned char *bytes, size_t size);

/* Remembers the pieces of files, so that they are searched only once for all their streams. */
struct bundles;

struct bundles *bundles_create(void);
void bundles_free(struct bundles *bundles);

/*
 * The pieces of an open file, found now or remembered. *bundle: NULL if the file is of another
 * kind. Returns 0 or as bundle_read().
 */
int bundles_find(struct bundles *bundles, int fd, bool is_live, const struct bundle **bundle,
		 struct error *err);

/* Splits "x.htr#3" into the length of "x.htr" and 3; false: the name has no stream number. */
bool bundle_split_name(const char *path, size_t *length, size_t *stream);

#endif
