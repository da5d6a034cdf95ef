/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_SELECT_H
#define ENGINE_SELECT_H

/*
 * Selects calls by process, thread, function, class, context, index, size or call site, and cuts
 * backtraces. The engine applies the selection to each event before a view or writer receives it.
 *
 * A release (free, close, unlock) is kept if its acquisition was kept, even if another thread or
 * function released the object; otherwise the object would seem never to be released. A release is
 * also kept if it matches the filters itself, but it never matches --size, because a release has no
 * size. The filter for classes does not need this rule, because acquisition and release have the
 * same class. A list of indices selects exactly the listed calls. Before the selection, the reader
 * of traces removes calls outside a span of time (struct trace_options), as if the recording had
 * covered only this span.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "postproc/totals/selection.h"
#include "trace/trace.h"

struct select;

struct select_options {
	struct select_tally *tally; /* select_destroy() adds counts of calls; may be NULL */
	bool has_contexts;
	/* patterns of names of classes, or a mask (bit 0 is class 1); NULL: all */
	const char *classes;
	uint64_t contexts;
	int64_t depth; /* maximum number of frames of a backtrace; -1: all */
	/* name of a file with indices of calls to keep or, after "!", to leave out; or NULL */
	const char *calls;
	const char *functions; /* patterns of names of functions, or NULL */
	const char *paths;     /* patterns of paths, names and addresses, or NULL */
	/* patterns of paths or file names, perhaps followed by :START+SIZE; or NULL */
	const char *modules;
	const char *thread;  /* a tid, or patterns of names of threads, or NULL */
	const char *size;    /* range of sizes of acquired objects, A..B; or NULL */
	const char *process; /* a pid, or patterns of names of programs, or NULL */
	/*
	 * Minimum time for which an object must be live. The selection ignores this member, because
	 * the time is known only when the object is released or the process ends; the views that
	 * list live objects apply it.
	 */
	uint64_t min_age_ns;
	/*
	 * False for the format `text`, which selects the same events as sp-rtrace. If true, the
	 * filters for contexts and for a range of a module also select the releases of selected
	 * acquisitions, and all notes are selected.
	 */
	bool is_whole;
};

/*
 * Returns 0, -EINVAL if an option is malformed, or another negative errno if the file of indices
 * cannot be read.
 */
int select_create(struct select **select, const struct select_options *options, struct error *err);

/*
 * Returns whether the event is selected. If the backtrace is cut, sets *event to a copy of the
 * event. The copy is valid until the next call, its backtrace until select_destroy().
 */
bool select_event(struct select *select, const struct event **event);

/*
 * Whether the selection keeps all calls unchanged and need not count them. If so, the caller may
 * skip select_event() for calls.
 */
bool select_keeps_calls(const struct select *select);

/* Whether the process of the current stream is selected. */
bool select_has_process(const struct select *select);

void select_destroy(struct select *select);

#endif
