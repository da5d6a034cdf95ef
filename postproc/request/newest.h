/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_NEWEST_H
#define REQUEST_NEWEST_H

/* The traces in a directory: which there are, and which belong to the newest run. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "trace/trace.h"

/* A trace as its first bytes tell of it. */
struct newest_trace {
	char *path;
	uint64_t bytes;
	struct timespec modified;
	uint64_t session[2]; /* 0: of no run of ours */
	uint64_t start_ns;   /* of the process; 0: not known */
	uint32_t pid;
	char name[64];	 /* of the program */
	bool is_written; /* its program, or the collector, goes on */
};

struct newest {
	struct newest_trace *items; /* the newest first */
	size_t count, capacity;
};

/*
 * Looks at all files of the directory that may be traces by their names (holdtrace.*, *.htr*,
 * *.rtrace*) and are by their content. reading: who is told of each (opened). Returns 0 or a
 * negative errno.
 */
int newest_scan(struct newest *newest, const char *directory, const struct trace_options *reading,
		struct error *err);

/*
 * The files of the newest run, all its processes, the first to start first: paths, to be freed as
 * one block; they live as long as newest. takes_written: also if it is still written. Returns 0,
 * -ENOENT (there is none) or another negative errno.
 */
int newest_run(const struct newest *newest, bool takes_written, const char ***paths, size_t *count,
	       struct error *err);

/* The trace of that path; NULL: those of no other run are in the directory. */
const struct newest_trace *newest_guess(const struct newest *newest, const char *path);

void newest_free(struct newest *newest);

#endif
