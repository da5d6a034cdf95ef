/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_STREAM_H
#define COLLECT_STREAM_H

/*
 * One process's stream: events through the encoder into a buffer, the buffer into the sink. When
 * the sink fails the stream ends with a whole packet, and what comes after is counted.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/encode.h"
#include "collect/sink.h"

struct stream {
	struct sink sink;
	struct encoder encoder;
	bool broken;
	uint64_t unwritten;  /* events that a broken sink cost */
	uint64_t flushed_ns; /* when the buffer was emptied last */
	struct error failure;
	uint64_t modules[1024]; /* bit per module number: told already */
};

/* Allocates a stream without a sink. NULL: no memory. */
struct stream *stream_create(enum setting_protocol protocol, const struct ticks *ticks);
void stream_free(struct stream *stream);

/* The sink could not be opened: everything is counted as unwritten. */
void stream_break(struct stream *stream, const struct error *err);

void stream_begin(struct stream *stream, const struct encode_process *process);
void stream_event(struct stream *stream, const struct merge_event *event);
void stream_note(struct stream *stream, const struct encode_note *note);

/* Empties the buffer into the sink. */
void stream_flush(struct stream *stream);

/* Empties it if that is due while nothing else is to be done. */
void stream_idle(struct stream *stream, uint64_t now_ns);

/* Ends the stream. Its command may still run: see sink_finished(). */
void stream_close(struct stream *stream);

#endif
