/* SPDX-License-Identifier: MIT */
#ifndef INPUTS_H
#define INPUTS_H

/*
 * What to read, stream by stream: FILE#N for each stream of a file that has several (bundle.h),
 * others as they were named. So whoever reads one trace after the other needs to know of no other
 * kind of file.
 */

#include "base/array.h"
#include "trace/trace.h"

struct inputs {
	const char **items;
	size_t count, capacity;
	ARRAY_OF(char *) made; /* those that were made here */
};

/*
 * options->bundles remembers what was found (NULL: all stay as they are); waits as trace_open()
 * does. What cannot be opened, or has one stream, stays as it is. Returns 0, -EINTR or -ENOMEM.
 */
int inputs_expand(struct inputs *inputs, const char *const *paths, size_t count,
		  const struct trace_options *options, struct error *err);

void inputs_free(struct inputs *inputs);

#endif
