/* SPDX-License-Identifier: MIT */
#ifndef PARALLEL_H
#define PARALLEL_H

/* Works on many items in several processes, whose output the caller receives item by item. */

#include <stddef.h>

#include "base/error.h"
#include "base/out.h"

/* How the work on an item ended: the byte that a worker writes after the output for the item. */
enum parallel_end {
	PARALLEL_WHOLE = '\f',
	PARALLEL_PART = '\v',	/* a part of the item could not be read */
	PARALLEL_FAILED = '\b', /* the output is not complete */
};

struct parallel {
	size_t count; /* number of items */
	/*
	 * Called in a worker, for one item after the other. The output must not contain the bytes
	 * of enum parallel_end.
	 */
	enum parallel_end (*work)(void *user, size_t item, struct out *out);
	/* Called in a worker after its last item; may be NULL. */
	void (*end)(void *user);
	/*
	 * Called in the calling process with the output for an item, in any order. The output has
	 * `length` bytes and a NUL, and may be modified.
	 */
	void (*take)(void *user, size_t item, enum parallel_end end, char *output, size_t length);
	void *user;
};

/*
 * Starts a worker for each processor, and waits for them. Calls take() for no item of a worker that
 * was killed. Returns 0 or a negative errno.
 */
int parallel_run(const struct parallel *parallel, struct error *err);

#endif
