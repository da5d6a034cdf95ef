/* SPDX-License-Identifier: MIT */
#ifndef INPUTS_H
#define INPUTS_H

/*
 * The inputs of a command, one per stream: FILE#N for each stream of a file that has several
 * (bundle.h), and other files under their own name. A caller that reads the items one after the
 * other needs no code for files with several streams.
 */

#include "base/array.h"
#include "trace/trace.h"

struct inputs {
	const char **items;
	size_t count, capacity;
	ARRAY_OF(char *) made; /* names that inputs_expand() has allocated */
};

/*
 * Replaces each path of a file with several streams by one item per stream. Paths of other files,
 * and of files that cannot be opened, are added unchanged. options->bundles caches the streams that
 * were found; if it is NULL, all paths are added unchanged. Waits for writers as trace_open() does.
 * Returns 0, -EINTR or -ENOMEM.
 */
int inputs_expand(struct inputs *inputs, const char *const *paths, size_t count,
		  const struct trace_options *options, struct error *err);

void inputs_free(struct inputs *inputs);

#endif
