/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BUNDLE_H
#define COLLECT_BUNDLE_H

/*
 * One file for the streams of many processes (htr.def). Each stream writes pieces; the file has
 * them in the order in which they were written, and the header of each piece names its stream. The
 * file never ends within a piece, so it stays readable if the collector is killed. Several threads
 * may write.
 */

#include <stdint.h>

#include "base/error.h"
#include "collect/sink.h"
#include "shorten.h"

struct bundle;

/* A stream within a bundle. */
struct bundle_stream {
	/* NULL: the stream has its own file */
	struct bundle *bundle;
	uint32_t number;
	uint64_t place; /* bytes of the stream that were written so far */
};

/*
 * Makes a bundle that writes to an open sink, a regular file, and takes over the sink. Returns NULL
 * if there is no memory; the caller then keeps the sink.
 */
struct bundle *bundle_create(struct sink *sink);

/* Adds a stream: from now on readers of the file wait until the stream is complete. */
struct bundle_stream bundle_begin(struct bundle *bundle);

/*
 * Called when all streams that were begun are complete: from then on, readers may read the file.
 * More streams may follow.
 */
void bundle_rest(struct bundle *bundle);

/*
 * Writes the next piece of a stream. Returns 0, or a negative errno if the write failed; then no
 * part of the piece remains in the file.
 */
int bundle_write(struct bundle_stream *stream, const void *bytes, size_t size, struct error *err);

uint64_t bundle_size(struct bundle *bundle);

/*
 * Replaces the file by `next`, a copy of its first done->read bytes without the unwanted pieces,
 * and copies the pieces written since. streams[done->streams]: how much of each stream was left
 * out. Closes `next` in any case. Returns 0, or a negative errno; then the old file remains.
 */
int bundle_shorten(struct bundle *bundle, struct sink_next *next, const struct keep_done *done,
		   const struct keep_stream *streams, struct error *err);

/* The sink of the file, as bundle_create() received it. */
const struct sink *bundle_sink(const struct bundle *bundle);

/* Unlocks and closes the file, when all streams are complete. `bundle` may be NULL. */
void bundle_close(struct bundle *bundle);

#endif
