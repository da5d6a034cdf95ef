/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_KEPT_BYTES_H
#define ENGINE_KEPT_BYTES_H

/*
 * A call as bytes, for a temporary file that the same process reads back. So pointers into the
 * memory of the trace are written as they are.
 */

#include <stdbool.h>
#include <stddef.h>

#include "account/keep.h"

/* The number of bytes that kept_put() writes for this event. */
size_t kept_size(const struct event *event, bool with_arguments);

/* Writes the call. bytes: kept_size() bytes of space, with any alignment. */
void kept_put(unsigned char *bytes, const struct event *event, bool with_arguments);

/*
 * Reads a call that kept_put() wrote. *size: the number of bytes read. The caller frees
 * kept->arguments as one block; the texts in it point into `bytes`.
 */
void kept_get(const unsigned char *bytes, struct kept *kept, size_t *size);

#endif
