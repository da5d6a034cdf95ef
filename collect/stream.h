/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_STREAM_H
#define COLLECT_STREAM_H

/*
 * The stream of one process: events go through the encoder into packets or the blocks of an .htr,
 * and a thread of the stream writes these to the sink. When the sink fails, the stream ends with a
 * whole packet or block, and later events are counted.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/bundle.h"
#include "collect/bounds.h"
#include "collect/encode.h"
#include "collect/output.h"
#include "collect/sink.h"

struct stream {
	struct sink sink;
	struct bundle_stream bundle; /* where the bytes go instead, if set */
	struct encoder encoder;
	struct output *output; /* NULL: not begun */
	/* control page.sleeping of the collector that waits for the stream's end; may be NULL */
	uint32_t *wake;
	bool broken;
	uint64_t unwritten;  /* events that were not written because the sink failed */
	uint64_t flushed_ns; /* when the buffer was last emptied */
	struct error failure;
	uint32_t sections;	    /* begun so far */
	uint64_t cut_calls;	    /* calls when the last section began */
	uint64_t known_bytes;	    /* its part of this sum: */
	struct bounds_known *known; /* NULL: not counted */
	/* a bit for each module number: already written */
	uint64_t modules[1024];
};

/* Allocates a stream without a sink. NULL: no memory. known: see there. */
struct stream *stream_create(enum setting_protocol protocol, const struct ticks *ticks,
			     struct bounds_known *known);
void stream_free(struct stream *stream);

/* The sink could not be opened: all events are counted as unwritten. */
void stream_break(struct stream *stream, const struct error *err);

void stream_begin(struct stream *stream, const struct encode_process *process);
void stream_event(struct stream *stream, const struct merge_event *event);

/* The fast path. False: pass the call to stream_event(). */
bool stream_fast(struct stream *stream, const struct fast_call *fast);

void stream_note(struct stream *stream, const struct encode_note *note);

/* Passes all buffered data on to the sink's thread. */
void stream_flush(struct stream *stream);

/* Likewise, and waits until it is written, if that does not take long. */
void stream_sync(struct stream *stream);

/*
 * Begins a section, which can be read without those before it. Does nothing if there were no calls
 * since the last section began.
 */
void stream_section(struct stream *stream);

/* Whether the file has the sections that were begun. */
bool stream_has_sections(const struct stream *stream);

/* The first bytes of an .htr that has just begun may be written a little later. */
void stream_postpone(struct stream *stream, uint64_t now_ns);

/* For how long it could not be written since the last call. */
uint64_t stream_stalled_ns(struct stream *stream);

/* Empties the buffer if that is due; called when there is nothing else to do. */
void stream_idle(struct stream *stream, uint64_t now_ns);

/* Ends the stream. Data may remain to be written: see stream_finished(). */
void stream_close(struct stream *stream);

/* Whether a closed stream is written (or has finally failed), and its command has ended. */
bool stream_finished(struct stream *stream);

#endif
