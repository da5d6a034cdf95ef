/* SPDX-License-Identifier: MIT */
#include "resolver/ranges.h"

#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>

void ranges_add(struct ranges *ranges, uint64_t from, uint64_t to, uint32_t item, uint32_t rank)
{
	if (from < to)
		*ARRAY_ADD(ranges) =
			(struct range){ .from = from, .to = to, .item = item, .rank = rank };
}

static int by_start(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	/*
	 * if two ranges begin at the same address, the larger one comes first, because a search
	 * returns the last match
	 */
	return ORDER(a->from, b->from) ?: ORDER(b->to, a->to)
		?: ORDER(a->rank, b->rank) ?: ORDER(b->item, a->item);
}

void ranges_sort(struct ranges *ranges)
{
	uint64_t reach = 0;

	ARRAY_SORT(ranges, by_start);
	for (size_t i = 0; i < ranges->count; i++) {
		if (ranges->items[i].to > reach)
			reach = ranges->items[i].to;
		ranges->items[i].reach = reach;
	}
}

const struct range *ranges_before(const struct ranges *ranges, uint64_t address)
{
	size_t low = ARRAY_SEARCH(ranges->count, at, ranges->items[at].from <= address);

	return low ? &ranges->items[low - 1] : NULL;
}

const struct range *ranges_find(const struct ranges *ranges, uint64_t address)
{
	const struct range *range = ranges_before(ranges, address);

	if (!range)
		return NULL;
	for (; range->reach > address; range--) {
		if (range->to > address)
			return range;
		if (range == ranges->items)
			break;
	}
	return NULL;
}

void ranges_free(struct ranges *ranges)
{
	free(ranges->items);
	*ranges = (struct ranges){ 0 };
}
