/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_KEPT_BYTES_H
#define ENGINE_KEPT_BYTES_H

/*
 * A call as bytes, for a temporary file that the same process reads back: pointers to memory of the
 * trace are stored as pointers.
 */

#include <stdbool.h>
#include <stddef.h>

#include "account/keep.h"

/* The number of bytes that kept_put() writes. */
size_t kept_size(const struct event *event, bool with_arguments);

/* bytes: has space for kept_size() bytes; needs no alignment. */
void kept_put(unsigned char *bytes, const struct event *event, bool with_arguments);

/*
 * Reads the call that kept_put() wrote; *size: the bytes that it takes. kept->arguments is one
 * block to free(); its texts are in bytes.
 */
void kept_get(const unsigned char *bytes, struct kept *kept, size_t *size);

#endif
