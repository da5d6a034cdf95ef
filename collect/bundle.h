/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BUNDLE_H
#define COLLECT_BUNDLE_H

/*
 * One file for the streams of many processes (htr.def). Each stream writes pieces, in the order in
 * which they come; the header of a piece names its stream. A piece is in the file whole or not at
 * all, so the file stays readable if the collector is killed. Several threads may write.
 */

#include <stdint.h>

#include "base/error.h"
#include "collect/sink.h"
#include "shorten.h"

struct bundle;

/* A stream within a bundle. */
struct bundle_stream {
	struct bundle *bundle; /* NULL: the stream has a file of its own */
	uint32_t number;
	uint64_t place; /* bytes of the stream that were written */
};

/* Takes over an open sink of a regular file. NULL: no memory, and the sink stays the caller's. */
struct bundle *bundle_create(struct sink *sink);

/* Adds a stream: from now on readers of the file wait for it. */
struct bundle_stream bundle_begin(struct bundle *bundle);

/* All streams that were begun are complete: readers may read the file. More streams may follow. */
void bundle_rest(struct bundle *bundle);

/*
 * Writes the next piece of a stream. Returns 0, or a negative errno: then nothing of it was
 * written.
 */
int bundle_write(struct bundle_stream *stream, const void *bytes, size_t size, struct error *err);

/* Bytes in the file. */
uint64_t bundle_size(struct bundle *bundle);

/*
 * Replaces the file by `next`, from which unwanted pieces were left out. done: how far the old file
 * was copied; streams (done->streams of them): what became of each. Copies the pieces that were
 * written since. next is closed in any case. Returns 0, or a negative errno: then nothing has
 * changed.
 */
int bundle_shorten(struct bundle *bundle, struct sink_next *next, const struct keep_done *done,
		   const struct keep_stream *streams, struct error *err);

/* The sink of the file, as it was given to bundle_create(). */
const struct sink *bundle_sink(const struct bundle *bundle);

/* All streams are complete: unlocks and closes the file. bundle may be NULL. */
void bundle_close(struct bundle *bundle);

#endif
