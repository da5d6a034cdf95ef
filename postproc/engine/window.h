/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_WINDOW_H
#define ENGINE_WINDOW_H

/* A part of a run between landmarks (--since, --until): times, marks, the peak. */

#include "engine.h"
#include "postproc/request/request.h"

/*
 * Finds the instants that the options name, for which it may read the traces once, and limits the
 * reading to the time between them. Does nothing without such options. Returns 0, -EINVAL (wrong
 * usage, or no such mark) or the error of reading.
 */
int window_plan(struct engine_options *reading, const char *const *paths, size_t count,
		const struct options *options, struct error *err);

#endif
