/* SPDX-License-Identifier: MIT */
#ifndef REQUEST_WARNINGS_H
#define REQUEST_WARNINGS_H

/* Warnings about a trace that was read: what is damaged, dropped, missing or unknown in it. */

#include <stdio.h>

#include "formats/writer.h"
#include "trace/trace.h"

struct warnings {
	FILE *to;
	const char *program; /* its name, at the start of each line */
	bool has_filters;    /* filters may be why there are no events */
};

/* Prints a line for each warning. path: the trace's name in them. */
void warnings_print(const struct warnings *warnings, const char *path, const struct trace *trace);

/* Warns of fields that the format has and the trace (of sp-rtrace, of protocol 1.4) has not. */
void warnings_print_missing(const struct warnings *warnings, const char *path,
			    const struct trace *trace, const struct writer *writer);

#endif
