/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_SELECT_H
#define ENGINE_SELECT_H

/*
 * What of a trace is wanted: calls by process, thread, function, class, context, index, size or
 * where they came from, backtraces cut, arguments left out. Applied to each event before any view
 * or writer sees it, in sp-rtrace's order: depth, class, code range, indices, context.
 *
 * A loss (free, close, unlock) belongs to its gain: if the gain was kept, the loss is, too,
 * whoever called it, since everything would look held otherwise. Beyond that a loss is kept where
 * it matches by itself; by size it never does, as it has none. Classes need no such rule, and
 * lists of indices mean exactly those. Of calls outside a span of time (trace_options) nothing is
 * seen, as if the recording had begun and ended there.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "postproc/totals/selection.h"
#include "trace/trace.h"

struct select;

struct select_options {
	struct select_tally *tally; /* is added to by select_destroy(); may be NULL */
	bool has_contexts;
	const char *classes; /* patterns of names, or a mask (bit 0 is class 1); or NULL */
	uint64_t contexts;
	int64_t depth;	       /* most frames; -1: all */
	const char *calls;     /* file with indices, behind ! of those that are left out; or NULL */
	const char *functions; /* patterns of names, or NULL */
	const char *modules; /* patterns of paths or file names, one :START+SIZE behind; or NULL */
	const char *thread;  /* an id, or patterns of names, or NULL */
	const char *size;    /* of what is acquired: A..B, or NULL */
	const char *process; /* a number, or patterns of names; or NULL */
	/*
	 * How long something must have been held: known only when it is lost or at the end, so
	 * select does nothing with it and views that list what was held do.
	 */
	uint64_t min_age_ns;
	/*
	 * For views and for streams: context and a range of a module, too, keep the losses of what
	 * they keep, and notes are kept where only calls are selected. Text is as sp-rtrace's.
	 */
	bool is_whole;
};

/* Returns 0, -EINVAL (a text in options is wrong), or what opening a file returned. */
int select_create(struct select **select, const struct select_options *options, struct error *err);

/*
 * *event: replaced where something is cut; it lives until the next call, its backtrace as long as
 * select. Returns whether the event is wanted.
 */
bool select_event(struct select *select, const struct event **event);

/* True: calls and notes need not be asked about: all are wanted, as they are, and not counted. */
bool select_keeps_calls(const struct select *select);

/* False: the stream that is being read is of a process that is not wanted. */
bool select_has_process(const struct select *select);

void select_destroy(struct select *select);

#endif
