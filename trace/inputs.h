/* SPDX-License-Identifier: MIT */
#ifndef INPUTS_H
#define INPUTS_H

/*
 * The inputs of a command, stream by stream: FILE#N for each stream of a file that has several
 * (bundle.h), other files as they were named. Callers that read one trace after the other handle no
 * other kind of file.
 */

#include "base/array.h"
#include "trace/trace.h"

struct inputs {
	const char **items;
	size_t count, capacity;
	ARRAY_OF(char *) made; /* names that were allocated here */
};

/*
 * options->bundles remembers the streams that were found; if it is NULL all paths stay as they are.
 * Waits as trace_open() does. A path that cannot be opened or has one stream stays as it is.
 * Returns 0, -EINTR or -ENOMEM.
 */
int inputs_expand(struct inputs *inputs, const char *const *paths, size_t count,
		  const struct trace_options *options, struct error *err);

void inputs_free(struct inputs *inputs);

#endif
