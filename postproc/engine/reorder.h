/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_REORDER_H
#define ENGINE_REORDER_H

/*
 * Holds calls back until all their contexts are known, then passes them on in the order of
 * sp-rtrace's tools: the calls of a text by time and index, others as they came. Calls that exceed
 * the memory for them go to a temporary file in $TMPDIR, or /tmp.
 */

#include <stdbool.h>

#include "base/error.h"
#include "trace/trace.h"

struct reorder;

struct reorder *reorder_create(bool with_arguments);

/* Keeps the call, but of the fields of its tail only the thread. */
void reorder_event(struct reorder *reorder, const struct event *event);

/*
 * After the last call: calls tell for each call, which lives until tell returns. trace: the trace
 * of the calls. Returns 0, a negative errno, or the first result of tell that is not 0.
 */
int reorder_finish(struct reorder *reorder, const struct trace *trace,
		   int (*tell)(void *user, const struct event *event, struct error *err),
		   void *user, struct error *err);

void reorder_destroy(struct reorder *reorder);

#endif
