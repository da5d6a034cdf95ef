/* SPDX-License-Identifier: MIT */
#ifndef TRACE_BUNDLE_H
#define TRACE_BUNDLE_H

/*
 * Files that have the streams of many processes (htr.def): which pieces of a file are whose. A
 * stream of such a file is an input by itself, named FILE#N; N is the number that its pieces bear.
 * FILE alone is all streams, one after the other.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/source.h"

/* A stream's part in a file. */
struct bundle_stream {
	uint32_t number;     /* a stream of which no piece is there yet has no place here */
	size_t first, count; /* of its extents */
	uint64_t size;	     /* bytes of it that are there */
	bool has_start;	     /* its first byte is there */
	uint64_t missing;    /* that are not, before others that are */
	uint64_t missing_at; /* where in the file the first of them is noticed */
};

struct bundle {
	struct source_extent *extents; /* by stream */
	struct bundle_stream *streams;
	size_t extent_count, stream_count;
};

/*
 * Looks through a file that begins as one. is_live: it is still written, and what is not there
 * whole has not come yet; else the last piece may be cut. Returns 0, -EPROTO (a newer version),
 * -ENODATA (no piece), -ENOMEM or what reading returned.
 */
int bundle_read(struct bundle *bundle, int fd, bool is_live, struct error *err);

/* The stream of that number, or NULL. */
const struct bundle_stream *bundle_stream_at(const struct bundle *bundle, size_t number);

/* Whether a file that begins so has the streams of many processes. */
bool bundle_recognises(const unsigned char *bytes, size_t size);

/* What was found out of files, so that it need not be again for each of their streams. */
struct bundles;

struct bundles *bundles_create(void);
void bundles_free(struct bundles *bundles);

/*
 * The pieces of an open file, looked through now or remembered. *bundle: NULL if it is none.
 * Returns 0 or as bundle_read().
 */
int bundles_find(struct bundles *bundles, int fd, bool is_live, const struct bundle **bundle,
		 struct error *err);

/* "x.htr#3" as the length of "x.htr" and 3; false: it names no stream. */
bool bundle_split_name(const char *path, size_t *length, size_t *stream);

#endif
