/* SPDX-License-Identifier: MIT */
#ifndef COMPRESS_H
#define COMPRESS_H

/*
 * Calls in groups of the same backtrace. A fold: compress_event() for each call,
 * compress_finish() once, then the groups in the order that was asked for. Memory grows with the
 * calls (80 bytes each), because the report lists every one of them.
 */

#include "base/error.h"
#include "postproc/views/keep.h"
#include "trace/event.h"

struct compress;

enum sort_order {
	SORT_SIZE,     /* largest groups first */
	SORT_SIZE_ASC, /* sp-rtrace's default */
	SORT_COUNT,
	SORT_COUNT_ASC,
	SORT_COUNT_OF,
};

/* Groups of one size or count stay in the order of their first calls. */
struct compress_group {
	const struct backtrace *backtrace; /* NULL: of calls without any */
	uint64_t count;			   /* calls */
	uint64_t bytes;			   /* gained; what is lost counts 0 */
	size_t rank;			   /* in order of first calls, from 0 */
	struct compress_call *first;
	struct compress_call *last;
};

struct compress_call {
	struct kept kept;
	struct compress_call *next;
};

/* Returns the order of that name ("size", "size-asc", ...), or SORT_COUNT_OF. */
enum sort_order compress_order(const char *name);

int compress_create(struct compress **compress, bool with_arguments, struct error *err);

/* Events that are no calls are ignored. Returns 0 or -ENOMEM. */
int compress_event(struct compress *compress, const struct event *event, struct error *err);

void compress_finish(struct compress *compress, enum sort_order order);

size_t compress_count(const struct compress *compress);
const struct compress_group *compress_at(const struct compress *compress, size_t i);

void compress_destroy(struct compress *compress);

#endif
