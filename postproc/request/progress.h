/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_PROGRESS_H
#define REQUEST_PROGRESS_H

/* The line on a terminal that tells how far reading is. */

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "trace/trace.h"

struct progress {
	FILE *to;
	const char *program;
	struct timespec start;
	unsigned shown; /* tenths of a second after the start when it was last written; 0: never */
	uint64_t events;
};

/* The clock starts here. program: its name, put before the line. */
void progress_begin(struct progress *progress, FILE *to, const char *program);

/*
 * To be called as trace_options.progress: after the first second writes the line anew, five times
 * a second; trace is NULL when all is read, and the line goes away.
 */
void progress_show(struct progress *progress, const struct trace *trace);

#endif
