/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_SELECT_H
#define ENGINE_SELECT_H

/*
 * The selection: keeps calls by process, thread, function, class, context, index, size or call
 * site, cuts backtraces, leaves arguments out. It is applied to each event before any view or
 * writer sees it, in sp-rtrace's order: depth, class, code range, indices, context.
 *
 * A release (free, close, unlock) is kept if its acquisition was, whichever thread or function
 * called it; otherwise everything would look held. A release is also kept if it matches by itself;
 * it never matches by size, since it has none. Classes need no such rule, and a list of indices is
 * taken literally. Calls outside a span of time (trace_options) are not seen, as if the recording
 * had begun and ended there.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "postproc/totals/selection.h"
#include "trace/trace.h"

struct select;

struct select_options {
	struct select_tally *tally; /* select_destroy() adds to it; may be NULL */
	bool has_contexts;
	const char *classes; /* patterns of names, or a mask (bit 0 is class 1); or NULL */
	uint64_t contexts;
	int64_t depth;	   /* maximum number of frames; -1: all */
	const char *calls; /* file with indices, after "!": of the calls to leave out; or NULL */
	const char *functions; /* patterns of names, or NULL */
	/* patterns of paths or file names, the last may have :START+SIZE; or NULL */
	const char *modules;
	const char *thread;  /* an id, or patterns of names, or NULL */
	const char *size;    /* of acquired objects: A..B, or NULL */
	const char *process; /* a number, or patterns of names; or NULL */
	/*
	 * Minimum time for which an object was held. It is known only at the release or at the end,
	 * so select ignores it; views that list held objects apply it.
	 */
	uint64_t min_age_ns;
	/*
	 * For views and streams: the filters for contexts and for a range of a module also keep the
	 * releases of kept acquisitions, and notes are kept where only calls are selected. False
	 * for text, which is as sp-rtrace's.
	 */
	bool is_whole;
};

/* Returns 0, -EINVAL (an option is malformed), or the error of opening a file. */
int select_create(struct select **select, const struct select_options *options, struct error *err);

/*
 * Returns whether the event is selected. *event: replaced by a copy if its backtrace is cut; the
 * copy lives until the next call, its backtrace as long as select.
 */
bool select_event(struct select *select, const struct event **event);

/*
 * True: all calls and notes are kept unchanged and uncounted, so select_event() may be skipped for
 * them.
 */
bool select_keeps_calls(const struct select *select);

/* False: the process of the current stream is not selected. */
bool select_has_process(const struct select *select);

void select_destroy(struct select *select);

#endif
