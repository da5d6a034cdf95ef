/* SPDX-License-Identifier: MIT */
#include "collect/ticks.h"

#include <string.h>

#define FIRST_BASE_NS 300000u /* shortest interval for which the first factor is computed */
/* time from ticks_begin() to the first comparison; the interval then doubles, up to LAST_STEP_NS */
#define FIRST_STEP_NS 1000000u
#define LAST_STEP_NS  1000000000u
/* a new ticks_line begins if the error is larger than this, or will be at the next comparison */
#define ERROR_NS   300
#define PAIR_TRIES 8
#define ONE	   ((double)(1ull << 32))

/* Reads the clock between two reads of the counter. Returns the most exact of several tries. */
static struct ticks_pair measure_pair(void)
{
	struct ticks_pair best = { .width = UINT64_MAX };

	for (int i = 0; i < PAIR_TRIES; i++) {
		uint64_t before = counter_read_ordered();
		uint64_t ns = ticks_clock_ns();
		uint64_t width = counter_read_ordered() - before;

		if (width >= best.width)
			continue;
		best.ticks = before + width / 2;
		best.ns = ns;
		best.width = width;
	}
	return best;
}

void ticks_measure(struct ticks *ticks, uint32_t clock)
{
	memset(ticks, 0, sizeof(*ticks));
	ticks->identity = clock != CONTROL_CLOCK_COUNTER;
	ticks->count = 1;
	ticks->lines[0].factor = 1ull << 32;
	if (!ticks->identity)
		ticks->first = measure_pair();
}

/* Returns the average length of a tick in ns * 2^32, or 0 if one of the clocks did not advance. */
static double slope(const struct ticks_pair *from, const struct ticks_pair *to)
{
	if (to->ticks <= from->ticks || to->ns <= from->ns)
		return 0;
	return (double)(to->ns - from->ns) / (double)(to->ticks - from->ticks) * ONE;
}

void ticks_begin(struct ticks *ticks)
{
	struct ticks_pair pair;

	if (ticks->identity)
		return;
	do
		pair = measure_pair();
	while (pair.ns - ticks->first.ns < FIRST_BASE_NS);
	ticks->lines[0] = (struct ticks_line){ .start = pair.ticks,
					       .ns = pair.ns,
					       .factor = (uint64_t)slope(&ticks->first, &pair) };
	ticks->step_ns = FIRST_STEP_NS;
	ticks->next_ns = pair.ns + ticks->step_ns;
}

/*
 * If the error is too large, begins a new line at the current end of the old line. The slope of the
 * new line is chosen so that the error is gone after one step; times never jump. The correction
 * changes the slope by at most a tenth.
 */
void ticks_correct(struct ticks *ticks, const struct ticks_pair *pair)
{
	const struct ticks_line *line = &ticks->lines[ticks->count - 1];
	double factor = slope(&ticks->first, pair);
	struct ticks_line next = { .start = pair->ticks };
	double error, drift, bend;

	if (factor == 0 || pair->ticks <= line->start)
		return;
	next.ns = ticks_on_line(line, pair->ticks);
	error = (double)(int64_t)(pair->ns - next.ns);
	drift = (factor - (double)line->factor) / (double)line->factor * (double)ticks->step_ns;
	if (error > -ERROR_NS && error < ERROR_NS && error + drift > -ERROR_NS &&
	    error + drift < ERROR_NS)
		return;
	bend = error / (double)ticks->step_ns;
	bend = bend > 0.1 ? 0.1 : bend < -0.1 ? -0.1 : bend;
	next.factor = (uint64_t)(factor * (1 + bend));
	if (ticks->count == TICKS_LINES) {
		memmove(&ticks->lines[0], &ticks->lines[1],
			(TICKS_LINES - 1) * sizeof(ticks->lines[0]));
		ticks->count--;
	}
	ticks->lines[ticks->count++] = next;
}

void ticks_compare(struct ticks *ticks, uint64_t now_ns)
{
	struct ticks_pair pair;

	if (ticks->identity || now_ns < ticks->next_ns)
		return;
	pair = measure_pair();
	if (ticks->step_ns < LAST_STEP_NS)
		ticks->step_ns *= 2;
	ticks_correct(ticks, &pair);
	/* users and NTP adjust the clock's rate, so an old start of the interval is replaced */
	if (pair.ns - ticks->first.ns > 64ull * LAST_STEP_NS)
		ticks->first = pair;
	ticks->next_ns = pair.ns + ticks->step_ns;
}

uint64_t ticks_ns_old(const struct ticks *ticks, uint64_t when)
{
	uint32_t i = ticks->count - 1;

	while (i > 0 && when < ticks->lines[i].start)
		i--;
	return ticks_on_line(&ticks->lines[i], when);
}
