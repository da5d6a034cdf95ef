/* SPDX-License-Identifier: MIT */
#ifndef SELECT_H
#define SELECT_H

/*
 * What of a trace is wanted: calls by class, context, index or where they came from, backtraces
 * cut, arguments left out. Applied to each event before any view or writer sees it, in
 * sp-rtrace's order: depth, class, code range, include, exclude, context.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/trace.h"

struct select;

struct select_options {
	bool has_resources, has_contexts;
	uint64_t resources; /* bit 0 is class 1 */
	uint64_t contexts;
	int64_t depth; /* most frames; -1: all */
	bool remove_arguments;
	const char *include, *exclude; /* files with indices, or NULL */
	const char *call_address;      /* MODULE:START+SIZE, or NULL */
};

/* Returns 0, -EINVAL (call_address is wrong), -ENOMEM, or what opening a file returned. */
int select_create(struct select **select, const struct select_options *options, struct error *err);

/*
 * *event: replaced where something is cut; it lives until the next call, its backtrace as long as
 * select. Returns 1 if the event is wanted, 0 if not, or -ENOMEM.
 */
int select_event(struct select *select, const struct event **event, struct error *err);

void select_destroy(struct select *select);

#endif
