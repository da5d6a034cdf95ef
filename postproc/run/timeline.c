/* SPDX-License-Identifier: MIT */
#include "timeline.h"

#include <string.h>

/* Merges pairs of steps; steps are numbered from time 0, so that all timelines agree. */
static void widen(struct timeline *timeline)
{
	uint64_t first = timeline->first / 2;
	uint32_t count = timeline->count;

	timeline->count = 0;
	timeline->width_ns *= 2;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t step = (uint32_t)((timeline->first + i) / 2 - first);

		for (int level = 0; level < TIMELINE_LEVELS; level++) {
			uint64_t most = timeline->most[level][i];

			if (step < timeline->count && most <= timeline->most[level][step])
				continue;
			timeline->most[level][step] = most;
			if (level == TIMELINE_MEMORY)
				timeline->variance[step] = timeline->variance[i];
		}
		if (step >= timeline->count)
			timeline->count = step + 1;
	}
	timeline->first = first;
}

static void begin(struct timeline *timeline, uint64_t time_ns, uint64_t width_ns)
{
	timeline->width_ns = width_ns;
	timeline->first = time_ns / width_ns;
	timeline->count = 1;
	for (int level = 0; level < TIMELINE_LEVELS; level++)
		timeline->most[level][0] = timeline->now[level];
	timeline->variance[0] = timeline->variance_now;
}

void timeline_advance(struct timeline *timeline, uint64_t time_ns)
{
	if (!timeline->width_ns)
		begin(timeline, time_ns, TIMELINE_WIDTH_NS);
	while (time_ns / timeline->width_ns >= timeline->first + TIMELINE_STEPS)
		widen(timeline);
	while (timeline->first + timeline->count <= time_ns / timeline->width_ns) {
		for (int level = 0; level < TIMELINE_LEVELS; level++)
			timeline->most[level][timeline->count] = timeline->now[level];
		timeline->variance[timeline->count++] = timeline->variance_now;
	}
}

void timeline_change(struct timeline *timeline, enum timeline_level level, int64_t change,
		     uint64_t time_ns)
{
	uint64_t *now = &timeline->now[level], *most;

	timeline_advance(timeline, time_ns);
	if (change < 0 && *now < -(uint64_t)change)
		*now = 0;
	else
		*now += (uint64_t)change;
	most = &timeline->most[level][timeline->count - 1];
	if (*now <= *most)
		return;
	*most = *now;
	if (level == TIMELINE_MEMORY)
		timeline->variance[timeline->count - 1] = timeline->variance_now;
}

void timeline_change_estimate(struct timeline *timeline, int64_t change, double variance,
			      uint64_t time_ns)
{
	timeline_advance(timeline, time_ns);
	timeline->variance_now += change < 0 ? -variance : variance;
	timeline_change(timeline, TIMELINE_MEMORY, change, time_ns);
}

/* Adds empty steps before the first and after the last. False: there is no space. */
static bool make_room(struct timeline *timeline, uint64_t first, uint64_t end)
{
	uint64_t before = timeline->first > first ? timeline->first - first : 0;

	if (end < timeline->first + timeline->count)
		end = timeline->first + timeline->count;
	if (end - (timeline->first - before) > TIMELINE_STEPS)
		return false;
	for (int level = 0; level < TIMELINE_LEVELS; level++) {
		uint64_t *most = timeline->most[level];
		uint64_t count = end - timeline->first;

		memmove(most + before, most, timeline->count * sizeof(*most));
		memset(most, 0, before * sizeof(*most));
		memset(most + before + timeline->count, 0,
		       (count - timeline->count) * sizeof(*most));
	}
	memmove(timeline->variance + before, timeline->variance,
		timeline->count * sizeof(*timeline->variance));
	for (uint64_t i = 0; i < end - timeline->first + before; i++)
		if (i < before || i >= before + timeline->count)
			timeline->variance[i] = 0;
	timeline->count = (uint32_t)(end - timeline->first + before);
	timeline->first -= before;
	return true;
}

void timeline_add(struct timeline *timeline, struct timeline *other)
{
	if (!other->width_ns)
		return;
	if (!timeline->width_ns) {
		*timeline = *other;
		return;
	}
	for (;;) {
		while (other->width_ns < timeline->width_ns)
			widen(other);
		while (timeline->width_ns < other->width_ns)
			widen(timeline);
		if (make_room(timeline, other->first, other->first + other->count))
			break;
		widen(timeline);
	}
	for (int level = 0; level < TIMELINE_LEVELS; level++)
		for (uint32_t i = 0; i < other->count; i++)
			timeline->most[level][other->first - timeline->first + i] +=
				other->most[level][i];
	for (uint32_t i = 0; i < other->count; i++)
		timeline->variance[other->first - timeline->first + i] += other->variance[i];
}
