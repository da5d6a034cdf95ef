/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_TICKS_H
#define COLLECT_TICKS_H

/*
 * Converts the arena's ticks to CLOCK_MONOTONIC in ns. The processor's counter is compared with the
 * clock again and again. Where the two drift apart, a new straight line begins at the present,
 * joined to the last one, so that times stay continuous and never run backwards.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "arena.h"
#include "counter.h"

#define TICKS_LINES 64u

/* From start on: ns + (ticks - start) * factor / 2^32. */
struct ticks_line {
	uint64_t start;
	uint64_t ns;
	uint64_t factor;
};

/* One instant by both clocks. */
struct ticks_pair {
	uint64_t ticks;
	uint64_t ns;
	uint64_t width; /* maximum error of ticks */
};

struct ticks {
	bool identity;
	uint32_t count;
	struct ticks_pair first; /* the first end of the measured interval */
	uint64_t next_ns;	 /* when to compare again */
	uint64_t step_ns;
	struct ticks_line lines[TICKS_LINES]; /* oldest first */
};

static inline uint64_t ticks_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The present in ticks of a clock (enum control_clock). */
static inline uint64_t ticks_now(uint32_t clock)
{
	return clock == CONTROL_CLOCK_COUNTER ? counter_read_ordered() : ticks_clock_ns();
}

/* Begins the measurement. Cheap; conversions work after ticks_begin(). */
void ticks_measure(struct ticks *ticks, uint32_t clock);

/*
 * Ends the first measurement, at least a third of a millisecond after ticks_measure(): waits for
 * that time if necessary. From now on ticks_ns() works.
 */
void ticks_begin(struct ticks *ticks);

/* Compares the clocks if a comparison is due. now_ns: CLOCK_MONOTONIC as the caller read it. */
void ticks_compare(struct ticks *ticks, uint64_t now_ns);

/* As ticks_compare(), with the caller's pair: this part reads no clock. */
void ticks_correct(struct ticks *ticks, const struct ticks_pair *pair);

/* Converts ticks before the last line but one; called by ticks_ns(). */
uint64_t ticks_ns_old(const struct ticks *ticks, uint64_t when);

static inline uint64_t ticks_on_line(const struct ticks_line *line, uint64_t when)
{
	__int128 delta = (__int128)(int64_t)(when - line->start) * line->factor;

	return line->ns + (uint64_t)(int64_t)(delta >> 32);
}

/* Converts ticks to ns. Never decreases as `when` grows. */
static inline uint64_t ticks_ns(const struct ticks *ticks, uint64_t when)
{
	const struct ticks_line *line = &ticks->lines[ticks->count - 1];
	uint64_t delta = when - line->start;

	if (__builtin_expect(ticks->identity, 0))
		return when;
	/* most are on the last line: one unsigned multiplication */
	if (__builtin_expect(when >= line->start && !(delta >> 63), 1))
		return line->ns + (uint64_t)((unsigned __int128)delta * line->factor >> 32);
	return ticks_ns_old(ticks, when);
}

#endif
