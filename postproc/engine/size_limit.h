/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_SIZE_LIMIT_H
#define ENGINE_SIZE_LIMIT_H

/* Keeps a file within a maximum size by writing it with less and less detail. */

#include "base/error.h"
#include "base/out.h"

struct size_limit {
	uint64_t most_bytes;
	uint32_t detail; /* roughly the detail at which nothing is left out */
	/* Writes the file; detail 1: as little as possible. Returns 0 or a negative errno. */
	int (*print)(void *user, uint32_t detail, struct out *out, struct error *err);
	void *user;
};

/*
 * Writes the file to out with everything, or with as much as fits. Returns 0, -EFBIG if even the
 * least detail does not fit (err says how many bytes that takes), or the result of print().
 */
int fit(const struct size_limit *limited, struct out *out, struct error *err);

#endif
