/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_NEWEST_H
#define REQUEST_NEWEST_H

/* Finds the traces in a directory, and those of them that belong to the newest run. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "trace/trace.h"

/* Facts about a trace, from its first bytes. */
struct newest_trace {
	char *path;
	uint64_t bytes;
	struct timespec modified;
	uint64_t session[2]; /* id of the run; 0, 0: the trace was not recorded by holdtrace */
	uint64_t start_ns;   /* start time of the process; 0: unknown */
	uint32_t pid;
	char name[64];	 /* name of the program */
	char *labels;	 /* labels of the run: NAME=VALUE,NAME=VALUE; NULL: it has none */
	bool is_written; /* the collector is still writing the file */
};

struct newest {
	struct newest_trace *items; /* the traces, the newest first */
	size_t count, capacity;
};

/*
 * Reads the first bytes of the file found->path, and sets the members of `found` from `session` to
 * `labels`. Calls reading->opened(). The caller frees found->labels. Returns whether the file is a
 * trace.
 */
bool newest_head(struct newest_trace *found, const struct trace_options *reading);

/*
 * Finds all traces in the directory: files with a name like holdtrace.*, *.htr* or *.rtrace* whose
 * content is a trace. Calls reading->opened() for each file. Returns 0 or a negative errno.
 */
int newest_scan(struct newest *newest, const char *directory, const struct trace_options *reading,
		struct error *err);

/*
 * Finds the traces of all processes of the newest run, in the order in which the processes started.
 * takes_written: whether to accept a run whose files are still being written. The caller frees
 * *paths; the strings in it are valid until newest_free(). Returns 0, -ENOENT if there is no such
 * run, or another negative errno.
 */
int newest_run(const struct newest *newest, bool takes_written, const char ***paths, size_t *count,
	       struct error *err);

/* Returns the trace with this path if `newest` also has traces of other runs, otherwise NULL. */
const struct newest_trace *newest_guess(const struct newest *newest, const char *path);

void newest_free(struct newest *newest);

#endif
