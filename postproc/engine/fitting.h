/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_FITTING_H
#define ENGINE_FITTING_H

/* A file that is to be no larger than it may be: it is written with less and less detail. */

#include "base/error.h"
#include "base/out.h"

struct fitting {
	uint64_t most_bytes;
	uint32_t detail; /* what all there is amounts to, about */
	/* Writes the file; detail 1: as little as can be. Returns 0 or a negative errno. */
	int (*print)(void *user, uint32_t detail, struct out *out, struct error *err);
	void *user;
};

/*
 * Writes to out the file with all there is, or with as much of it as fits. Returns 0, -EFBIG if
 * the least does not fit (err says how many bytes that takes), or what print() did.
 */
int fit(const struct fitting *fitting, struct out *out, struct error *err);

#endif
