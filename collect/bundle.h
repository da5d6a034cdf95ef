/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BUNDLE_H
#define COLLECT_BUNDLE_H

/*
 * One file for the streams of many processes (htr.def): each writes pieces, one behind the other as
 * they come, each with a header that says whose it is. A piece is there whole or not at all, so
 * that what a collector that was killed leaves is readable. Several threads may write.
 */

#include <stdint.h>

#include "base/error.h"
#include "collect/sink.h"
#include "shorten.h"

struct bundle;

/* A stream's place in it. */
struct bundle_stream {
	struct bundle *bundle; /* NULL: the stream has a file of its own */
	uint32_t number;
	uint64_t place; /* bytes of it that were written */
};

/* Takes over an open sink of a regular file. NULL: no memory; the sink is then as before. */
struct bundle *bundle_create(struct sink *sink);

/* Another stream: whoever reads the file waits from now on. */
struct bundle_stream bundle_begin(struct bundle *bundle);

/* All streams that were begun are complete: the file may be read, and others may follow. */
void bundle_rest(struct bundle *bundle);

/* The next piece of a stream. Returns 0, or a negative errno: then nothing of it is there. */
int bundle_write(struct bundle_stream *stream, const void *bytes, size_t size, struct error *err);

/* Bytes in the file. */
uint64_t bundle_size(struct bundle *bundle);

/*
 * Another file takes the place of this one, from which what is not wanted any more was left out:
 * done says how far it was copied, streams (done->streams of them) what became of each. What was
 * written since is added. next: the file, which may be empty of that; it is gone in any case.
 * Returns 0 or a negative errno: then all is as before.
 */
int bundle_shorten(struct bundle *bundle, struct sink_next *next, const struct keep_done *done,
		   const struct keep_stream *streams, struct error *err);

/* The file that all of it goes to, as it was when it was opened. */
const struct sink *bundle_sink(const struct bundle *bundle);

/* All streams are complete: unlocks and closes it. bundle may be NULL. */
void bundle_close(struct bundle *bundle);

#endif
