/* SPDX-License-Identifier: MIT */
/* Levels over time: no peak is lost when steps become wider, and several processes add up. */
#include "postproc/run/timeline.h"

#include <stdlib.h>

#include "tests/lib/tap.h"

static uint64_t most_of(const struct timeline *timeline, enum timeline_level level)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < timeline->count; i++)
		if (timeline->most[level][i] > most)
			most = timeline->most[level][i];
	return most;
}

/* The level of the step of a time; UINT64_MAX: there is none. */
static uint64_t at(const struct timeline *timeline, enum timeline_level level, uint64_t time_ns)
{
	uint64_t step = time_ns / timeline->width_ns - timeline->first;

	return step < timeline->count ? timeline->most[level][step] : UINT64_MAX;
}

static void test_steps(void)
{
	struct timeline timeline = { .width_ns = 0 };

	timeline_change(&timeline, TIMELINE_MEMORY, 100, 1000000);
	timeline_change(&timeline, TIMELINE_MEMORY, 50, 1100000);
	timeline_change(&timeline, TIMELINE_MEMORY, -120, 1100001);
	timeline_advance(&timeline, 1500000);
	ok(at(&timeline, TIMELINE_MEMORY, 1050000) == 100, "a level lasts until it changes");
	ok(at(&timeline, TIMELINE_MEMORY, 1100000) == 150, "a step has the most that was in it");
	ok(at(&timeline, TIMELINE_MEMORY, 1499999) == 30, "and the last goes on to the end");
	timeline_change(&timeline, TIMELINE_MEMORY, -500, 1500000);
	ok(timeline.now[TIMELINE_MEMORY] == 0, "no level falls below nothing");
}

static void test_widening(void)
{
	struct timeline timeline = { .width_ns = 0 };
	bool is_bounded = true;

	for (uint64_t i = 0; i < 100000; i++) {
		timeline_change(&timeline, TIMELINE_DESCRIPTORS, i == 77777 ? 1000 : 1,
				i * 1000000);
		timeline_change(&timeline, TIMELINE_DESCRIPTORS, i == 77777 ? -1000 : -1,
				i * 1000000 + 10);
		is_bounded &= timeline.count <= TIMELINE_STEPS;
	}
	ok(is_bounded, "there are never more steps than room for them");
	ok(timeline.count > TIMELINE_STEPS / 2, "nor fewer than half of that");
	ok(at(&timeline, TIMELINE_DESCRIPTORS, 77777000000) == 1000,
	   "a short peak is where it was");
	ok(at(&timeline, TIMELINE_DESCRIPTORS, 10000000000) == 1, "and nowhere else");
	timeline_advance(&timeline, UINT64_MAX);
	ok(timeline.count <= TIMELINE_STEPS && most_of(&timeline, TIMELINE_DESCRIPTORS) == 1000,
	   "not even the largest time is too much");
}

static void test_adding(void)
{
	struct timeline all = { .width_ns = 0 }, early = { .width_ns = 0 },
			late = { .width_ns = 0 };

	/* The second process begins before the first, and goes on long after it. */
	timeline_change(&late, TIMELINE_THREADS, 3, 5000000);
	timeline_change(&late, TIMELINE_THREADS, -3, 6000000);
	timeline_change(&early, TIMELINE_THREADS, 2, 1000000);
	timeline_change(&early, TIMELINE_THREADS, 2, 9000000000);
	timeline_add(&all, &late);
	timeline_add(&all, &early);
	ok(all.count <= TIMELINE_STEPS, "of two processes there are no more steps");
	ok(at(&all, TIMELINE_THREADS, 5500000) == 5, "what both had at one time is added");
	ok(at(&all, TIMELINE_THREADS, 1000000000) == 2, "what one had is its own");
	ok(at(&all, TIMELINE_THREADS, 9000000000) == 4, "to the end of the longer one");
	ok(most_of(&all, TIMELINE_THREADS) == 5, "and nothing more");
}

int main(void)
{
	test_steps();
	test_widening();
	test_adding();
	return tap_end();
}
