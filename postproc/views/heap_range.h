/* SPDX-License-Identifier: MIT */
#ifndef HEAP_RANGE_H
#define HEAP_RANGE_H

/* The lowest and highest block of memory that a trace has seen: two lines of the heap's report. */

#include "trace/event.h"

struct heap_range {
	uint64_t lowest, highest; /* addresses; both 0 before the first block */
};

void heap_range_event(struct heap_range *range, const struct event *event);

#endif
