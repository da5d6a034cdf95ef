/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_NEWEST_H
#define REQUEST_NEWEST_H

/* The traces in a directory, and which of them belong to the newest run. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "trace/trace.h"

/* A trace, as far as its first bytes describe it. */
struct newest_trace {
	char *path;
	uint64_t bytes;
	struct timespec modified;
	uint64_t session[2]; /* 0: not of a run of holdtrace */
	uint64_t start_ns;   /* of the process; 0: not known */
	uint32_t pid;
	char name[64];	 /* of the program */
	bool is_written; /* its program, or the collector, is still running */
};

struct newest {
	struct newest_trace *items; /* the newest first */
	size_t count, capacity;
};

/*
 * Examines all files in the directory whose names may be traces' (holdtrace.*, *.htr*, *.rtrace*)
 * and whose content is. reading: its opened() gets each of them. Returns 0 or a negative errno.
 */
int newest_scan(struct newest *newest, const char *directory, const struct trace_options *reading,
		struct error *err);

/*
 * The files of the newest run, with all its processes, in the order of their start: an array to be
 * freed, whose paths live as long as newest. takes_written: also a run that is still being written.
 * Returns 0, -ENOENT (there is none) or another negative errno.
 */
int newest_run(const struct newest *newest, bool takes_written, const char ***paths, size_t *count,
	       struct error *err);

/* The trace with that path; NULL: the directory has traces of no other run. */
const struct newest_trace *newest_guess(const struct newest *newest, const char *path);

void newest_free(struct newest *newest);

#endif
