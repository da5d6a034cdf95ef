/* SPDX-License-Identifier: MIT */
#ifndef TRACE_BUNDLE_H
#define TRACE_BUNDLE_H

/*
 * Finds the pieces of each stream in a file that contains the streams of several processes
 * (htr.def). Each stream can be read as an input of its own, named FILE#N, where N is the stream
 * number in the header of each piece. FILE alone names all streams, read one after the other.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/error.h"
#include "trace/source.h"
#include "trace/trace.h"

/* The part of a file that belongs to one stream. */
struct bundle_stream {
	uint32_t number;     /* stream number; a stream without pieces has no entry */
	size_t first, count; /* extents[first] to extents[first + count - 1] */
	uint64_t size;	     /* number of the stream's bytes that are present */
	bool has_start;	     /* the first byte of the stream is present */
	uint64_t missing;    /* number of bytes missing between the stream's pieces */
	uint64_t missing_at; /* file offset of the first piece that follows a gap */
};

struct bundle {
	struct source_extent *extents; /* parts of the file, grouped by stream */
	struct bundle_stream *streams;
	size_t extent_count, stream_count;
};

/*
 * Finds the pieces of a file with several streams. If the last piece is incomplete, it is ignored
 * while the file is still being written (is_live); otherwise its existing bytes are used. Returns
 * 0, -EPROTO (another version), -ENODATA (no piece), -ENOMEM or an error of pread().
 */
int bundle_read(struct bundle *bundle, int fd, bool is_live, struct error *err);

/* Returns the stream with this number, or NULL. */
const struct bundle_stream *bundle_stream_at(const struct bundle *bundle, size_t number);

/* True if these are the first bytes of a file with several streams. */
bool bundle_recognises(const unsigned char *bytes, size_t size);

/*
 * A cache of the pieces of files: each file is searched once, however many of its streams are read.
 */
struct bundles;

struct bundles *bundles_create(void);
void bundles_free(struct bundles *bundles);

/*
 * Sets *bundle to the pieces of an open file, from the cache if it has them, or to NULL if the file
 * is not a file of several streams. Returns 0 or an error of bundle_read().
 */
int bundles_find(struct bundles *bundles, int fd, bool is_live, const struct bundle **bundle,
		 struct error *err);

/* Splits "x.htr#3" into the length of "x.htr" and 3. Returns false without a stream number. */
bool bundle_split_name(const char *path, size_t *length, size_t *stream);

/*
 * The inputs of a command, one per stream: FILE#N for each stream of a file that has several
 * streams, and the unchanged path for any other file. A caller that reads the items one after the
 * other needs no code for files with several streams.
 */
struct inputs {
	const char **items;
	size_t count, capacity;
	ARRAY_OF(char *) made; /* names that inputs_expand() has allocated */
};

/*
 * Replaces each path of a file with several streams by one item per stream. Paths of other files,
 * and of files that cannot be opened, are added unchanged. options->bundles caches the streams that
 * were found; if it is NULL, all paths are added unchanged. Waits for writers as trace_open() does.
 * Returns 0, -EINTR or -ENOMEM.
 */
int inputs_expand(struct inputs *inputs, const char *const *paths, size_t count,
		  const struct trace_options *options, struct error *err);

void inputs_free(struct inputs *inputs);

#endif
