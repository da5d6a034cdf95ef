/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_PROGRESS_H
#define REQUEST_PROGRESS_H

/* The line on a terminal that shows how far reading is. */

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "trace/trace.h"

struct progress {
	FILE *to;
	const char *program;
	struct timespec start;
	/* when it was last written, in tenths of a second after the start; 0: never */
	unsigned shown;
	uint64_t events;
};

/* Starts the clock. program: its name, at the start of the line. */
void progress_begin(struct progress *progress, FILE *to, const char *program);

/*
 * For trace_options.progress: after the first second rewrites the line five times a second; trace
 * NULL: everything is read, and the line is removed.
 */
void progress_show(struct progress *progress, const struct trace *trace);

#endif
