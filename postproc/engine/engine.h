/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

/*
 * The only loop over events: reads traces, applies the selection, and passes the remaining events
 * to a listener, stream by stream. Two listeners exist: pass.h prints streams, and reporting.h
 * makes reports on a run.
 */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "select.h"
#include "trace/trace.h"

/* The callbacks return 0 or a negative errno. */
struct engine_listener {
	void *user;
	/* A trace was opened. path: "-" for standard input, NULL for a merged trace. */
	int (*open)(void *user, const struct trace *trace, const char *path, struct error *err);
	/*
	 * A stream of a selected process begins. event: the stream's EVENT_STREAM, which the engine
	 * passes on only when the process is known. A merged trace is one stream.
	 */
	int (*begin)(void *user, const struct event *event, struct error *err);
	/*
	 * Called for each selected event of the stream. In a merged trace, this includes every
	 * EVENT_STREAM after the first one.
	 */
	int (*event)(void *user, const struct event *event, struct error *err);
	/* The stream has ended. The engine calls this once for each begin(), even after errors. */
	int (*end)(void *user, struct error *err);
	/*
	 * All streams of the trace have ended. The engine calls this once for each open() that
	 * returned 0. May be NULL.
	 */
	int (*close)(void *user, const struct trace *trace, struct error *err);
};

struct engine_options {
	struct trace_options trace;
	struct select_options select;
	/* merge all inputs into one trace */
	bool is_merged;
	/* if a signal handler sets *stop, reading ends: the result covers the events read so far */
	const volatile sig_atomic_t *stop;
	/*
	 * The engine calls this after it has read a trace to its end, or was stopped. user: the
	 * member trace.user. May be NULL.
	 */
	void (*read)(void *user, const char *path, const struct trace *trace);
};

struct engine_result {
	bool has_found;	 /* at least one stream was selected */
	bool is_damaged; /* a trace was damaged or could not be read, or events were dropped */
	size_t unread;	 /* number of traces that could not be read to their end */
	struct instant_base run; /* start of the first run in the traces; 0: unknown */
};

/*
 * Reads all traces one after the other, and updates `result`. The listener also receives the events
 * that precede an error. If one of several traces cannot be read, calls trace.failed() and
 * continues with the next trace. Returns 0, -EINTR if reading was stopped, or another negative
 * errno.
 */
int engine_read(const char *const *paths, size_t count, const struct engine_options *options,
		const struct engine_listener *listener, struct engine_result *result,
		struct error *err);

#endif
