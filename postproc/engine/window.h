/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_WINDOW_H
#define ENGINE_WINDOW_H

/* A part of a run by its own landmarks (--since, --until): times, marks, the peak. */

#include "engine.h"
#include "postproc/request/request.h"

/*
 * Finds the instants that the options name, which takes a reading of the traces of its own, and
 * narrows the reading to them. Without such options nothing happens. Returns 0, -EINVAL (wrong
 * usage, or no such mark) or what reading returned.
 */
int window_plan(struct engine_options *reading, const char *const *paths, size_t count,
		const struct options *options, struct error *err);

#endif
