/* SPDX-License-Identifier: MIT */
#include "postproc/views/heap_range.h"

void heap_range_event(struct heap_range *range, const struct event *event)
{
	if (!event_is_alloc(event))
		return;
	/* Descriptors and locks are no blocks; a class that nobody knows may be. */
	if (event->resource->known != RESOURCE_MEMORY && event->resource->known != RESOURCE_NONE)
		return;
	if (range->lowest == 0 || event->object < range->lowest)
		range->lowest = event->object;
	if (event->object > range->highest)
		range->highest = event->object;
}
