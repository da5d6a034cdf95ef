/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_WINDOW_H
#define ENGINE_WINDOW_H

/*
 * Limits reading to a part of a run (--since, --until). The part can begin and end at a time, at a
 * mark that the program set, or at the peak of memory.
 */

#include "engine.h"
#include "postproc/request/request.h"

/*
 * Finds the instants that --since and --until name, and limits reading to the time between them. To
 * find a mark or the peak, reads the traces an additional time. Returns 0, -EINVAL (wrong usage, or
 * the run has no such mark), or an error of reading the traces.
 */
int window_plan(struct engine_options *reading, const char *const *paths, size_t count,
		const struct options *options, struct error *err);

#endif
