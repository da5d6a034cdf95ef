/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

/*
 * The one loop over events: reads traces, lets select choose, and hands what it left to a listener,
 * stream by stream. Whoever prints streams (pass.h) and whoever answers questions about a run
 * (reporting.h) is such a listener.
 */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "select.h"
#include "trace/trace.h"

/* All return 0 or a negative errno. */
struct engine_listener {
	void *user;
	/* A trace was opened. path: "-" for standard input, NULL for a merged one. */
	int (*open)(void *user, const struct trace *trace, const char *path, struct error *err);
	/*
	 * A stream of a process that is wanted begins. event: its EVENT_STREAM, held back until the
	 * process was known. A merged trace is one stream.
	 */
	int (*begin)(void *user, const struct event *event, struct error *err);
	/* What select has left of the stream; of a merged trace further EVENT_STREAMs, too. */
	int (*event)(void *user, const struct event *event, struct error *err);
	/* The stream has no more events. Called once after each begin(), after errors, too. */
	int (*end)(void *user, struct error *err);
	/* The trace has no more streams. Called once after each open() that returned 0; may be
	 * NULL. */
	int (*close)(void *user, const struct trace *trace, struct error *err);
};

struct engine_options {
	struct trace_options trace;
	struct select_options select;
	bool is_merged;			   /* all paths are one trace, see trace/merge.h */
	const volatile sig_atomic_t *stop; /* set by a signal: finish with what was read */
	/* Called with trace.user when a trace was read to its end, or stopped; NULL: nobody is. */
	void (*read)(void *user, const char *path, const struct trace *trace);
};

struct engine_result {
	bool has_found;		 /* a stream was wanted */
	bool is_damaged;	 /* a trace was damaged, could not be read, or lost events */
	size_t unread;		 /* traces that could not be read to their end */
	struct instant_base run; /* where the first run begins; 0: not known */
};

/*
 * An open trace. What was read before an error was still handed on. Adds to result. Returns 0,
 * -EINTR if it was stopped, or another negative errno.
 */
int engine_trace(struct trace *trace, const char *path, const struct engine_options *options,
		 const struct engine_listener *listener, struct engine_result *result,
		 struct error *err);

/*
 * All of them, one after the other. Of several, one that fails is told of (trace.failed) and left
 * out. Returns as engine_trace().
 */
int engine_read(const char *const *paths, size_t count, const struct engine_options *options,
		const struct engine_listener *listener, struct engine_result *result,
		struct error *err);

#endif
