/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_COMPRESS_H
#define ENGINE_COMPRESS_H

/*
 * Groups calls by backtrace. Pass each call to compress_event(), then call compress_finish() once
 * to sort the groups. The output lists every call, but memory use grows only with the number of
 * groups: the newest calls of each group are in memory, its older calls in a temporary file in
 * $TMPDIR or /tmp.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "trace/event.h"

/*
 * The functions kept_*() convert a call to bytes and back. Only this process reads the bytes, so
 * they may contain pointers into the memory of the trace.
 */

/* Returns the number of bytes that kept_put() writes for this event. */
size_t kept_size(const struct event *event, bool with_arguments);

/* Writes the call. bytes: kept_size() bytes of space, with any alignment. */
void kept_put(unsigned char *bytes, const struct event *event, bool with_arguments);

/*
 * Reads a call that kept_put() wrote. *size: the number of bytes read. The caller frees
 * kept->arguments as one block; the texts in it point into `bytes`.
 */
void kept_get(const unsigned char *bytes, struct kept_call *kept, size_t *size);

struct compress;

/* Order of the groups, which --by chooses when -c groups calls. */
enum sort_order {
	SORT_SIZE,     /* largest groups first */
	SORT_SIZE_ASC, /* smallest groups first: sp-rtrace's default */
	SORT_COUNT,
	SORT_COUNT_ASC,
	SORT_COUNT_OF,
};

/*
 * The calls of a group, in the order of the trace. The newest calls (a few kilobytes at most) are
 * in memory, the older calls in the temporary file.
 */
struct spill_buffer {
	unsigned char *bytes; /* the newest calls, as kept_put() writes them */
	uint32_t size, capacity;
	/* offset in the file at which the group's newest chunk ends; 0: the file has none */
	uint64_t older;
};

/*
 * Calls with the same backtrace. Sorting leaves groups of equal size or count in the order of their
 * first calls.
 */
struct compress_group {
	const struct backtrace *backtrace; /* NULL: the calls have no backtrace */
	uint64_t count;			   /* number of calls */
	uint64_t bytes;			   /* bytes acquired; a release adds nothing */
	/* index of the group in the order of first calls, from 0 */
	size_t rank;
	struct spill_buffer calls;
};

void compress_create(struct compress **compress, bool with_arguments);

/* Adds a call to its group. Ignores other events. Returns 0 or a negative errno. */
int compress_event(struct compress *compress, const struct event *event, struct error *err);

void compress_finish(struct compress *compress, enum sort_order order);

size_t compress_count(const struct compress *compress);
const struct compress_group *compress_at(const struct compress *compress, size_t i);

/*
 * Calls print() for each call of the group, in the order of the trace; `kept` is valid until
 * print() returns. Stops at the first result of print() that is not 0. Returns that result, 0 or a
 * negative errno.
 */
int compress_each(const struct compress *compress, const struct compress_group *group,
		  int (*print)(void *user, struct kept_call *kept), void *user, struct error *err);

void compress_destroy(struct compress *compress);

#endif
