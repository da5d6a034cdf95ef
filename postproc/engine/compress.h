/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_COMPRESS_H
#define ENGINE_COMPRESS_H

/*
 * Calls in groups of the same backtrace. Give compress_event() each call, then call
 * compress_finish() once; the groups are then in the requested order. The report lists every call,
 * but memory grows with the number of groups only: the newest calls of each group stay in memory,
 * the others go to a temporary file in $TMPDIR, or /tmp.
 */

#include "base/error.h"
#include "account/keep.h"
#include "trace/event.h"

struct compress;

/* The argument of --by, for -c. */
enum sort_order {
	SORT_SIZE,     /* largest groups first */
	SORT_SIZE_ASC, /* sp-rtrace's default */
	SORT_COUNT,
	SORT_COUNT_ASC,
	SORT_COUNT_OF,
};

/*
 * The calls of a group, in their order: the newest are in memory, some kilobytes at most, the
 * others in the temporary file.
 */
struct spill_buffer {
	unsigned char *bytes; /* of the newest calls */
	uint32_t size, capacity;
	uint64_t older; /* offset in the file at which the previous chunk ends; 0: there is none */
};

/* Groups of equal size or count stay in the order of their first calls. */
struct compress_group {
	const struct backtrace *backtrace; /* NULL: the calls have none */
	uint64_t count;			   /* calls */
	uint64_t bytes;			   /* acquired; releases count 0 */
	size_t rank;			   /* in order of first calls, from 0 */
	struct spill_buffer calls;
};

void compress_create(struct compress **compress, bool with_arguments);

/* Ignores events that are not calls. Returns 0 or a negative errno. */
int compress_event(struct compress *compress, const struct event *event, struct error *err);

void compress_finish(struct compress *compress, enum sort_order order);

size_t compress_count(const struct compress *compress);
const struct compress_group *compress_at(const struct compress *compress, size_t i);

/*
 * Calls print for each call of the group in order; kept lives until print returns. Returns 0, a
 * negative errno, or the first result of print that is not 0.
 */
int compress_each(const struct compress *compress, const struct compress_group *group,
		  int (*print)(void *user, struct kept *kept), void *user, struct error *err);

void compress_destroy(struct compress *compress);

#endif
