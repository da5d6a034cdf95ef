/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_KEPT_BYTES_H
#define ENGINE_KEPT_BYTES_H

/*
 * A call as bytes, for a temporary file that is read by who wrote it: pointers to what the trace
 * keeps are as good as what they point to.
 */

#include <stdbool.h>
#include <stddef.h>

#include "account/keep.h"

/* Bytes that kept_put() writes. */
size_t kept_size(const struct event *event, bool with_arguments);

/* bytes: room for kept_size(); needs no alignment. */
void kept_put(unsigned char *bytes, const struct event *event, bool with_arguments);

/*
 * The call that kept_put() wrote, and *size, the bytes that it takes. kept->arguments is one block
 * for free() whose texts are in bytes.
 */
void kept_get(const unsigned char *bytes, struct kept *kept, size_t *size);

#endif
