/* SPDX-License-Identifier: MIT */
#include "scan/targets.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/order.h"

void ranges_add(struct ranges *ranges, uint64_t from, uint64_t to)
{
	if (from < to)
		*ARRAY_ADD(ranges) = (struct range){ from, to };
}

static int by_start(const void *one, const void *two)
{
	const struct range *a = one, *b = two;

	return ORDER(a->from, b->from);
}

void ranges_settle(struct ranges *ranges)
{
	size_t kept = 0;

	if (!ranges->count)
		return;
	qsort(ranges->items, ranges->count, sizeof(*ranges->items), by_start);
	for (size_t i = 1; i < ranges->count; i++) {
		struct range *last = &ranges->items[kept];

		if (ranges->items[i].from > last->to)
			ranges->items[++kept] = ranges->items[i];
		else if (ranges->items[i].to > last->to)
			last->to = ranges->items[i].to;
	}
	ranges->count = kept + 1;
}

void ranges_free(struct ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct ranges){ 0 };
}

size_t ranges_after(const struct ranges *ranges, uint64_t address)
{
	return ARRAY_SEARCH(ranges->count, at, ranges->items[at].to <= address);
}
