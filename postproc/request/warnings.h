/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_WARNINGS_H
#define REQUEST_WARNINGS_H

/* What is to be said of a trace that was read: what is damaged, lost, missing or unknown in it. */

#include <stdio.h>

#include "formats/writer.h"
#include "trace/trace.h"

struct warnings {
	FILE *to;
	const char *program; /* its name, put before each line */
	bool has_filters;    /* so that no event need not mean that there was none */
};

/* A line for each. path: as it is to be called. */
void warnings_print(const struct warnings *warnings, const char *path, const struct trace *trace);

/* What the format has and the trace does not say: of a trace of sp-rtrace, of protocol 1.4. */
void warnings_print_missing(const struct warnings *warnings, const char *path,
			    const struct trace *trace, const struct writer *writer);

#endif
