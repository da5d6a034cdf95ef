/* SPDX-License-Identifier: MIT */
#ifndef PASS_H
#define PASS_H

/* One pass over a trace: its events through select into the views and the writer. */

#include <signal.h>
#include <stdbool.h>

#include "base/error.h"
#include "postproc/output.h"
#include "postproc/select.h"
#include "postproc/views/compress.h"
#include "formats/writer.h"
#include "trace/trace.h"

struct pass_options {
	const struct writer *writer;
	struct select_options select;
	bool is_leaks, is_compressed;
	bool is_merged; /* the trace is of trace_merge_open() */
	enum sort_order order;
	bool force;
	/* the formats' own options, see writer.h; the last one is nothing */
	struct writer_option own[FORMAT_OPTIONS_MAX];
	size_t own_count;
	struct output *output;
	bool *has_found;		   /* set when a stream was wanted; may be NULL */
	const volatile sig_atomic_t *stop; /* set by a signal: finish with what was read */
};

/*
 * Reads the trace to its end. What was read before an error is still written.
 * Returns 0, -EINTR if it was stopped, or another negative errno.
 */
int pass_run(struct trace *trace, const struct pass_options *options, struct error *err);

#endif
