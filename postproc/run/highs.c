/* SPDX-License-Identifier: MIT */
#include "highs.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "spans.h"

#define SHIFT_FIRST 12u /* log2 of the initial length of a step in ns: 4096 ns */

void highs_init(struct highs *highs)
{
	*highs = (struct highs){ .shift = SHIFT_FIRST, .first = UINT64_MAX };
}

void highs_free(struct highs *highs)
{
	free(highs->list.items);
	*highs = (struct highs){ 0 };
}

void highs_begin_process(struct highs *highs)
{
	memset(highs->newest, 0, sizeof(highs->newest));
	memset(highs->live, 0, sizeof(highs->live));
}

static void raise_most(struct high *high, const int64_t *live)
{
	for (int unit = 0; unit < HIGHS_UNITS; unit++)
		if (live[unit] > high->most[unit])
			high->most[unit] = live[unit];
}

/*
 * Makes a step 1 << shift ns long, and merges entries that now have the same step. Entries to be
 * merged are adjacent within their class, because the list is sorted by process, then by time.
 */
static void widen(struct highs *highs, unsigned shift)
{
	size_t newest[LEDGER_CLASSES] = { 0 }, count = highs->list.count;
	unsigned by = shift > highs->shift ? shift - highs->shift : 0;
	struct high *items = highs->list.items;

	if (!by)
		return;
	highs->list.count = 0;
	for (size_t i = 0; i < count; i++) {
		struct high high = items[i];
		struct high *before = newest[high.class] ? &items[newest[high.class] - 1] : NULL;

		high.step >>= by;
		if (before && before->process == high.process && before->step == high.step) {
			raise_most(before, high.most);
			memcpy(before->end, high.end, sizeof(high.end));
		} else {
			items[highs->list.count++] = high;
			newest[high.class] = highs->list.count;
		}
	}
	for (size_t class = 0; class < LEDGER_CLASSES; class ++)
		highs->newest[class] = highs->newest[class] ? newest[class] : 0;
	highs->first >>= by;
	highs->last >>= by;
	highs->shift = shift;
}

void highs_change(struct highs *highs, uint32_t class, uint32_t process, uint64_t time_ns,
		  int64_t count, int64_t bytes)
{
	uint64_t step = time_ns >> highs->shift;
	int64_t *live = highs->live[class];
	struct high *high;
	unsigned by = 0;

	/* extend the range of steps to the time */
	if (highs->first > highs->last)
		highs->first = highs->last = step;
	if (step < highs->first)
		highs->first = step;
	if (step > highs->last)
		highs->last = step;
	while ((highs->last >> by) - (highs->first >> by) >= SPANS_STEPS)
		by++;
	widen(highs, highs->shift + by);
	step = time_ns >> highs->shift;
	high = highs->newest[class] ? &highs->list.items[highs->newest[class] - 1] : NULL;
	if (!high || high->step < step) {
		high = ARRAY_ADD(&highs->list);
		*high = (struct high){ .step = step, .class = class, .process = process };
		raise_most(high, live);
		highs->newest[class] = highs->list.count;
	}
	live[HIGHS_COUNT] += count;
	live[HIGHS_BYTES] += bytes;
	raise_most(high, live);
	memcpy(high->end, live, sizeof(high->end));
}

void highs_release(struct highs *highs, uint32_t process, uint64_t time_ns)
{
	for (uint32_t class = 0; class < LEDGER_CLASSES; class ++)
		if (highs->newest[class])
			highs_change(highs, class, process, time_ns,
				     -highs->live[class][HIGHS_COUNT],
				     -highs->live[class][HIGHS_BYTES]);
}

struct high *highs_sum(const struct highs *highs)
{
	size_t steps = highs->first <= highs->last ? highs->last - highs->first + 1 : 0;
	struct high *sums = memory_zalloc(LEDGER_CLASSES * steps + 1, sizeof(*sums));
	const struct high *before[LEDGER_CLASSES] = { NULL };

	for (size_t i = 0; i < highs->list.count; i++) {
		const struct high *high = &highs->list.items[i], *last = before[high->class];
		struct high *sum = &sums[high->class * steps];

		/* in the steps between two entries of a process, its amount does not change */
		if (last && last->process == high->process)
			for (uint64_t step = last->step + 1; step < high->step; step++)
				for (int unit = 0; unit < HIGHS_UNITS; unit++) {
					sum[step - highs->first].most[unit] += last->end[unit];
					sum[step - highs->first].end[unit] += last->end[unit];
				}
		for (int unit = 0; unit < HIGHS_UNITS; unit++) {
			sum[high->step - highs->first].most[unit] += high->most[unit];
			sum[high->step - highs->first].end[unit] += high->end[unit];
		}
		before[high->class] = high;
	}
	return sums;
}
