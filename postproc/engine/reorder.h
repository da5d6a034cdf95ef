/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_REORDER_H
#define ENGINE_REORDER_H

/*
 * Calls held back until the surroundings of all of them are known, and then told as the tools of
 * sp-rtrace tell them: those of a text by time and index, others as they came. What memory has no
 * room for is in a temporary file in $TMPDIR, or /tmp.
 */

#include <stdbool.h>

#include "base/error.h"
#include "trace/trace.h"

struct reorder;

int reorder_create(struct reorder **reorder, bool with_arguments, struct error *err);

/* Keeps the call; without its tail, but for the thread. Returns 0 or a negative errno. */
int reorder_event(struct reorder *reorder, const struct event *event, struct error *err);

/*
 * Nothing more comes: tell is called for each call, which lives until it returns. trace: whose
 * calls they are. Returns 0, a negative errno, or what tell returned if that is not 0.
 */
int reorder_finish(struct reorder *reorder, const struct trace *trace,
		   int (*tell)(void *user, const struct event *event, struct error *err),
		   void *user, struct error *err);

void reorder_destroy(struct reorder *reorder);

#endif
