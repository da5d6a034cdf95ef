/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_SPILL_BUFFER_H
#define ENGINE_SPILL_BUFFER_H

/*
 * Calls that are read once more, in their order: the newest are in memory, some kilobytes at most,
 * the others in a temporary file.
 */

#include "base/error.h"
#include "base/spill_file.h"
#include "account/keep.h"

/* All zeros: empty. */
struct spill_buffer {
	unsigned char *bytes; /* of the newest calls */
	uint32_t size, capacity;
	uint64_t older; /* offset in the file at which the previous chunk ends; 0: there is none */
};

/*
 * Adds a call; its arguments only if with_arguments. chunk: bytes of calls that may stay in memory,
 * which bounds the sum over many spill buffers. Returns 0 or a negative errno.
 */
int spill_buffer_add(struct spill_buffer *buffer, struct spill_file *spill, size_t chunk,
		     const struct event *event, bool with_arguments, struct error *err);

/*
 * Calls print for each call in order; kept lives until print returns. Returns 0, a negative errno,
 * or the first result of print that is not 0.
 */
int spill_buffer_each(const struct spill_buffer *buffer, const struct spill_file *spill,
		      int (*print)(void *user, struct kept *kept), void *user, struct error *err);

void spill_buffer_free(struct spill_buffer *buffer);

#endif
