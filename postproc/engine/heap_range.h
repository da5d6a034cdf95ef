/* SPDX-License-Identifier: MIT */
#ifndef ENGINE_HEAP_RANGE_H
#define ENGINE_HEAP_RANGE_H

/*
 * The lowest and the highest address of a trace's memory blocks. The heap statistics in sp-rtrace
 * text have a line for each.
 */

#include "trace/event.h"

struct heap_range {
	uint64_t lowest, highest; /* both 0 before the first block */
};

static inline void heap_range_event(struct heap_range *range, const struct event *event)
{
	if (!event_is_alloc(event))
		return;
	/* descriptors and locks are not memory blocks; objects of an unknown class may be */
	if (event->resource->known != RESOURCE_MEMORY && event->resource->known != RESOURCE_NONE)
		return;
	if (range->lowest == 0 || event->object < range->lowest)
		range->lowest = event->object;
	if (event->object > range->highest)
		range->highest = event->object;
}

#endif
