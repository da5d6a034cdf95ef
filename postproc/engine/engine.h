/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

/*
 * The only loop over events: reads traces, applies the selection, and passes the remaining events
 * to a listener, stream by stream. There are two listeners: pass.h prints streams, and reporting.h
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
	 * delays until the process is known. A merged trace is one stream.
	 */
	int (*begin)(void *user, const struct event *event, struct error *err);
	/*
	 * A selected event of the stream. In a merged trace this includes every EVENT_STREAM after
	 * the first one.
	 */
	int (*event)(void *user, const struct event *event, struct error *err);
	/* The stream has ended. Called once for each call of begin(), even after errors. */
	int (*end)(void *user, struct error *err);
	/*
	 * All streams of the trace have ended. Called once for each open() that returned 0. May be
	 * NULL.
	 */
	int (*close)(void *user, const struct trace *trace, struct error *err);
};

struct engine_options {
	struct trace_options trace;
	struct select_options select;
	/* merge all inputs into one trace */
	bool is_merged;
	/* a signal handler may set *stop: the result then covers the events read so far */
	const volatile sig_atomic_t *stop;
	/*
	 * Called after a trace was read to its end, or after reading was stopped. user: the member
	 * trace.user. May be NULL.
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
 * Reads all traces one after the other, and adds their facts to `result`. The listener also
 * receives the events that precede an error. If there are several traces, trace.failed() reports a
 * trace that cannot be read, and reading goes on with the next trace. Returns 0, -EINTR if reading
 * was stopped, or another negative errno.
 */
int engine_read(const char *const *paths, size_t count, const struct engine_options *options,
		const struct engine_listener *listener, struct engine_result *result,
		struct error *err);

#endif
