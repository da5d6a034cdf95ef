/* SPDX-License-Identifier: MIT */
#ifndef RUNS_H
#define RUNS_H

/*
 * A set of runs. Traces with the same run id are processes of one run. The trace file of a node
 * (--node) has the processes of several ranks; each rank counts as a run.
 */

#include "base/array.h"
#include "base/hash_table.h"
#include "base/pool.h"
#include "reporting.h"

/* How the work on an item ended: the byte that a worker writes after the output for the item. */
enum parallel_end {
	PARALLEL_WHOLE = '\f',
	PARALLEL_PART = '\v',	/* a part of the item could not be read */
	PARALLEL_FAILED = '\b', /* the output is not complete */
};

struct run {
	uint64_t session[2]; /* id of the run; 0, 0: it has none */
	const char *rank;    /* "": not known, or not needed to distinguish the runs of a file */
	ARRAY_OF(const char *) paths;
};

struct runs {
	struct run **items; /* in the order of their first traces */
	size_t count, capacity;
	struct pool pool;
	struct hash_table table;
};

/*
 * Groups traces into runs by the first bytes of each trace. A path that is not a trace becomes a
 * run of its own, so that the attempt to read it reports the error. `paths` must outlive `runs`.
 * Returns 0 or a negative errno.
 */
int runs_find(struct runs *runs, const char *const *paths, size_t count,
	      const struct trace_options *reading, struct error *err);

void runs_free(struct runs *runs);

/*
 * Writes the report on each run in a worker process, and calls take() in this process with the
 * output. `end` is PARALLEL_PART for a damaged run, and PARALLEL_FAILED for an unreadable one.
 */
int runs_read(const struct runs *runs, const struct reporting_options *how,
	      void (*take)(void *user, size_t run, enum parallel_end end, char *output,
			   size_t length),
	      void *user, struct error *err);

#endif
