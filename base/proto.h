/* SPDX-License-Identifier: MIT */
#ifndef BASE_PROTO_H
#define BASE_PROTO_H

/*
 * Protocol buffers as they are written: a message is put together in memory, field by field, and
 * becomes a field of another one or goes out. The first failure is kept and everything after it is
 * dropped, so that callers look once: at proto_error(). Nothing here knows a schema.
 *
 *   proto_clear(&inner); proto_unsigned(&inner, 1, id); proto_message(&outer, 4, &inner);
 */

#include <stddef.h>
#include <stdint.h>

#include "base/out.h"

struct proto {
	unsigned char *bytes;
	size_t used, capacity;
};

/* An all-zero one is empty. Memory is kept for use again. */
void proto_clear(struct proto *proto);
void proto_free(struct proto *proto);

void proto_unsigned(struct proto *proto, unsigned field, uint64_t number);
void proto_fixed64(struct proto *proto, unsigned field, uint64_t number);

/* A string: bytes that are no UTF-8, which a string must be, become U+FFFD. */
void proto_text(struct proto *proto, unsigned field, const char *text);

/* The inner message as a field. */
void proto_message(struct proto *proto, unsigned field, const struct proto *inner);

/* A number of a packed field: without its key. */
void proto_packed(struct proto *proto, uint64_t number);

#endif
