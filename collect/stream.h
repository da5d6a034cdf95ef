/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_STREAM_H
#define COLLECT_STREAM_H

/*
 * The stream of one process. The encoder turns events into packets or into the blocks of an .htr,
 * and a thread of the stream writes these to the sink. The queues of all streams hold a limited
 * number of bytes; beyond that, a caller that adds to a queue has to wait. If the sink fails, the
 * stream ends with a complete packet or block, and the events after it are only counted.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/bundle.h"
#include "collect/bounds.h"
#include "collect/code.h"
#include "collect/encode.h"
#include "collect/sink.h"

struct output;

struct stream {
	struct sink sink;
	/* the bundle of the stream; bundle.bundle is NULL if the stream has its own file */
	struct bundle_stream bundle;
	struct encoder encoder;
	struct output *output; /* NULL: the stream has not begun, or has failed to begin */
	/* control_page.sleeping, to wake the collector when the stream has ended; may be NULL */
	uint32_t *wake;
	bool broken;
	uint64_t unwritten;  /* number of events that were not written because the sink failed */
	uint64_t flushed_ns; /* when the buffer was last emptied */
	struct error failure;
	uint32_t sections; /* number of sections that were begun */
	/* number of calls before the current section */
	uint64_t cut_calls;
	/* bytes of this stream's definitions that are counted in *known */
	uint64_t known_bytes;
	struct bounds_known *known; /* counts of the user's streams; NULL: not counted */
	struct code code;	    /* code that the process makes at run time; only for an .htr */
	/* one bit for each module number: whether the module was written to the stream */
	uint64_t modules[1024];
};

/*
 * Allocates a stream without a sink. Returns NULL if there is no memory. known: the counts for all
 * streams of this user, or NULL.
 */
struct stream *stream_create(enum setting_protocol protocol, const struct ticks *ticks,
			     struct bounds_known *known);
void stream_free(struct stream *stream);

/* Marks the stream as failed, for example at opening. Later events are counted as unwritten. */
void stream_break(struct stream *stream, const struct error *err);

void stream_begin(struct stream *stream, const struct encode_process *process);
void stream_event(struct stream *stream, const struct merge_event *event);

/* Writes the name of the function to which a return address outside of all modules belongs. */
void stream_code(struct stream *stream, uint64_t address, const char *name);

/* Writes a call by the fast path. Returns false if the call must be passed to stream_event(). */
bool stream_fast(struct stream *stream, const struct fast_call *fast);

void stream_note(struct stream *stream, const struct encode_note *note);

/* Passes all buffered data to the output's thread. */
void stream_flush(struct stream *stream);

/* Like stream_flush(), and waits up to a second until the data is written. */
void stream_sync(struct stream *stream);

/* Begins a section, which is readable without earlier ones, if the current one has any calls. */
void stream_section(struct stream *stream);

/* Whether the start of every section has been written to the file, or the stream has failed. */
bool stream_has_sections(const struct stream *stream);

/* Schedules the first write of an .htr, which has just begun: FLUSH_FIRST_NS after now_ns. */
void stream_postpone(struct stream *stream, uint64_t now_ns);

/* Returns for how many ns since the last call the disk was full, so that the stream had to wait. */
uint64_t stream_stalled_ns(struct stream *stream);

/* Writes the buffered data if a write is due. The collector calls this function when it is idle. */
void stream_idle(struct stream *stream, uint64_t now_ns);

/* Ends the stream. Its last data may still have to be written: see stream_finished(). */
void stream_close(struct stream *stream);

/* Whether a closed stream is written or has failed, and the command of its sink has ended. */
bool stream_finished(struct stream *stream);

#endif
