/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_STREAM_H
#define COLLECT_STREAM_H

/*
 * One process's stream: events through the encoder into packets or the blocks of an .htr, and these
 * into the sink, by a thread of its own. When the sink fails the stream ends with a whole packet or
 * block, and what comes after is counted.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/bundle.h"
#include "collect/encode.h"
#include "collect/output.h"
#include "collect/sink.h"

/*
 * What streams know of backtraces and names, in bytes of memory: of a user's, or of all. When they
 * know more together than they may, those that know no less than others begin anew (sections).
 */
struct stream_known {
	uint64_t bytes, most;
	uint32_t streams;
};

struct stream {
	struct sink sink;
	struct bundle_stream bundle; /* where it goes instead, if that is set */
	struct encoder encoder;
	struct output *output; /* NULL: not begun */
	uint32_t *wake;	       /* board.sleeping, of who waits for the stream's end; may be NULL */
	bool broken;
	uint64_t unwritten;  /* events that a broken sink cost */
	uint64_t flushed_ns; /* when the buffer was emptied last */
	struct error failure;
	uint32_t sections;				   /* that were begun */
	uint64_t cut_calls;				   /* when the last one was */
	uint64_t known_bytes;				   /* its part of these: */
	struct stream_known *known_by_user, *known_by_all; /* NULL: nobody counts */
	uint64_t modules[1024];				   /* bit per module number: told already */
};

/* Allocates a stream without a sink. NULL: no memory. known: of its user, and of all; or NULL. */
struct stream *stream_create(enum setting_protocol protocol, const struct ticks *ticks,
			     struct stream_known *of_user, struct stream_known *of_all);
void stream_free(struct stream *stream);

/* The sink could not be opened: everything is counted as unwritten. */
void stream_break(struct stream *stream, const struct error *err);

void stream_begin(struct stream *stream, const struct encode_process *process);
void stream_event(struct stream *stream, const struct merge_event *event);

/* The short way. False: the call is to come by stream_event(). */
bool stream_brief(struct stream *stream, const struct brief *brief);

void stream_note(struct stream *stream, const struct encode_note *note);

/* Sends what there is on its way into the sink. */
void stream_flush(struct stream *stream);

/* And waits until it is there, if that does not take long. */
void stream_sync(struct stream *stream);

/* What comes from now on can be read without what is there; nothing happens where that is little.
 */
void stream_section(struct stream *stream);

/* Whether the sections that were begun are in the file. */
bool stream_has_sections(const struct stream *stream);

/* One of .htr that has just begun need not be in the file at once, but soon. */
void stream_postpone(struct stream *stream, uint64_t now_ns);

/* For how long it could not be written, since it was asked last. */
uint64_t stream_stalled_ns(struct stream *stream);

/* Empties it if that is due while nothing else is to be done. */
void stream_idle(struct stream *stream, uint64_t now_ns);

/* Ends the stream. Its end may still have to be written: see stream_finished(). */
void stream_close(struct stream *stream);

/* Whether a closed stream is written (or failed for good), and its command has ended. */
bool stream_finished(struct stream *stream);

#endif
