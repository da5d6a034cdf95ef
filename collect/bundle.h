/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BUNDLE_H
#define COLLECT_BUNDLE_H

/*
 * A bundle: one file for the streams of many processes (htr.def). Each stream writes pieces. The
 * file has the pieces in the order of writing, and the header of each piece names its stream. The
 * file never ends within a piece, so it stays readable if the collector is killed. Several threads
 * may write.
 */

#include <stdint.h>

#include "base/error.h"
#include "collect/sink.h"
#include "shorten.h"

struct bundle;

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
 * Replaces the file by `next`, which has the first done->read bytes of the file without the
 * unwanted pieces. Before that, copies to `next` the pieces that were written later. `streams` has
 * done->streams items: how much of each stream is missing in `next`. Always closes `next`. Returns
 * 0, or a negative errno; then the old file remains.
 */
int bundle_shorten(struct bundle *bundle, struct sink_next *next, const struct keep_done *done,
		   const struct keep_stream *streams, struct error *err);

/* The sink of the file, as bundle_create() received it. */
const struct sink *bundle_sink(const struct bundle *bundle);

/* Unlocks and closes the file, when all streams are complete. `bundle` may be NULL. */
void bundle_close(struct bundle *bundle);

#endif
