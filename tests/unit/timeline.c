/* SPDX-License-Identifier: MIT */
/* Tests levels over time: wider steps keep every peak, and the levels of processes are added. */
#include "postproc/run/timeline.h"

#include <stdlib.h>

#include "tests/lib/tap.h"

static uint64_t most_of(const struct timeline *timeline, enum timeline_level level)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < timeline->count; i++)
		if (timeline->steps[i].most[level] > most)
			most = timeline->steps[i].most[level];
	return most;
}

/* Returns the level of the step that contains the time; UINT64_MAX: there is no such step. */
static uint64_t at(const struct timeline *timeline, enum timeline_level level, uint64_t time_ns)
{
	uint64_t step = (time_ns >> timeline->shift) - timeline->first;

	return step < timeline->count ? timeline->steps[step].most[level] : UINT64_MAX;
}

static void test_steps(void)
{
	struct timeline timeline = { .shift = 0 };

	timeline_change(&timeline, TIMELINE_MEMORY, 100, 0, 1000000);
	timeline_change(&timeline, TIMELINE_MEMORY, 50, 0, 1100000);
	timeline_change(&timeline, TIMELINE_MEMORY, -120, 0, 1100001);
	timeline_advance(&timeline, 1500000);
	ok(at(&timeline, TIMELINE_MEMORY, 1050000) == 100, "a level lasts until it changes");
	ok(at(&timeline, TIMELINE_MEMORY, 1100000) == 150, "a step has the maximum of its levels");
	ok(at(&timeline, TIMELINE_MEMORY, 1499999) == 30, "the last level lasts to the end");
	timeline_change(&timeline, TIMELINE_MEMORY, -500, 0, 1500000);
	ok(timeline.now.most[TIMELINE_MEMORY] == 0, "no level falls below 0");
}

static void test_widening(void)
{
	struct timeline timeline = { .shift = 0 };
	bool is_bounded = true;

	for (uint64_t i = 0; i < 100000; i++) {
		timeline_change(&timeline, TIMELINE_DESCRIPTORS, i == 77777 ? 1000 : 1, 0,
				i * 1000000);
		timeline_change(&timeline, TIMELINE_DESCRIPTORS, i == 77777 ? -1000 : -1, 0,
				i * 1000000 + 10);
		is_bounded &= timeline.count <= TIMELINE_STEPS;
	}
	ok(is_bounded, "there are never more steps than fit");
	ok(timeline.count > TIMELINE_STEPS / 2, "more than half of the steps stay in use");
	ok(at(&timeline, TIMELINE_DESCRIPTORS, 77777000000) == 1000,
	   "a short peak stays in its step when steps are merged");
	ok(at(&timeline, TIMELINE_DESCRIPTORS, 10000000000) == 1,
	   "other steps do not have the short peak");
	timeline_advance(&timeline, UINT64_MAX);
	ok(timeline.count <= TIMELINE_STEPS && most_of(&timeline, TIMELINE_DESCRIPTORS) == 1000,
	   "the largest time fits into the steps");
}

static void test_adding(void)
{
	struct timeline all = { .shift = 0 }, early = { .shift = 0 }, late = { .shift = 0 };

	/* `early` begins before `late`, and ends long after it */
	timeline_change(&late, TIMELINE_THREADS, 3, 0, 5000000);
	timeline_change(&late, TIMELINE_THREADS, -3, 0, 6000000);
	timeline_change(&early, TIMELINE_THREADS, 2, 0, 1000000);
	timeline_change(&early, TIMELINE_THREADS, 2, 0, 9000000000);
	timeline_add(&all, &late);
	timeline_add(&all, &early);
	ok(all.count <= TIMELINE_STEPS, "the sum of two processes has no more steps than fit");
	ok(at(&all, TIMELINE_THREADS, 5500000) == 5,
	   "levels of two processes at one time are added");
	ok(at(&all, TIMELINE_THREADS, 1000000000) == 2,
	   "a level of one process alone stays as it is");
	ok(at(&all, TIMELINE_THREADS, 9000000000) == 4,
	   "the sum lasts to the end of the longer process");
	ok(most_of(&all, TIMELINE_THREADS) == 5, "the maximum of the sum is that of its steps");
}

int main(void)
{
	test_steps();
	test_widening();
	test_adding();
	return tap_end();
}
