/* SPDX-License-Identifier: MIT */
#ifndef BASE_PROTO_H
#define BASE_PROTO_H

/*
 * Writes protocol buffers. A message is built in memory, field by field; then it becomes a field of
 * an outer message or is written out. The schema is up to the caller.
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

/* Empties the message but keeps its memory for reuse. A zeroed struct is an empty message. */
void proto_clear(struct proto *proto);
void proto_free(struct proto *proto);

void proto_unsigned(struct proto *proto, unsigned field, uint64_t number);
void proto_fixed64(struct proto *proto, unsigned field, uint64_t number);

/* A string field. Invalid UTF-8 becomes U+FFFD, because protobuf strings must be UTF-8. */
void proto_text(struct proto *proto, unsigned field, const char *text);

/* Adds the inner message as a field. */
void proto_message(struct proto *proto, unsigned field, const struct proto *inner);

/* Appends a number to the contents of a packed field: a varint without a key. */
void proto_packed(struct proto *proto, uint64_t number);

#endif
