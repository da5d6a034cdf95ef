/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_TICKS_H
#define COLLECT_TICKS_H

/*
 * Converts the arena's ticks to CLOCK_MONOTONIC in ns. The processor's counter is compared with the
 * clock repeatedly. If the two drift apart, a new straight line begins at the current end of the
 * last line, so that times are continuous and never decrease.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "arena.h"
#include "counter.h"

#define TICKS_LINES 64u

/* From `start` on, the time is ns + (ticks - start) * factor / 2^32. */
struct ticks_line {
	uint64_t start;
	uint64_t ns;
	uint64_t factor;
};

/* One moment, in ticks of the processor's counter and as CLOCK_MONOTONIC. */
struct ticks_pair {
	uint64_t ticks;
	uint64_t ns;
	uint64_t width; /* maximum error of `ticks` */
};

struct ticks {
	bool identity;
	uint32_t count;
	struct ticks_pair first; /* the start of the interval over which the factor is measured */
	uint64_t next_ns;	 /* when the next comparison is due */
	uint64_t step_ns;
	struct ticks_line lines[TICKS_LINES]; /* all lines, oldest first */
};

static inline uint64_t ticks_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The current time in ticks of a clock (enum control_clock). */
static inline uint64_t ticks_now(uint32_t clock)
{
	return clock == CONTROL_CLOCK_COUNTER ? counter_read_ordered() : ticks_clock_ns();
}

/* Begins the first measurement and returns at once. Times can be converted after ticks_begin(). */
void ticks_measure(struct ticks *ticks, uint32_t clock);

/* Ends the first measurement FIRST_BASE_NS after ticks_measure(). From now on, ticks_ns() works. */
void ticks_begin(struct ticks *ticks);

/* Compares the clocks if a comparison is due. now_ns: CLOCK_MONOTONIC. */
void ticks_compare(struct ticks *ticks, uint64_t now_ns);

/* Corrects the conversion with a pair that the caller has measured. Does not read a clock. */
void ticks_correct(struct ticks *ticks, const struct ticks_pair *pair);

/* Converts ticks that may be before the last line. For ticks_ns() only. */
uint64_t ticks_ns_old(const struct ticks *ticks, uint64_t when);

static inline uint64_t ticks_on_line(const struct ticks_line *line, uint64_t when)
{
	__int128 delta = (__int128)(int64_t)(when - line->start) * line->factor;

	return line->ns + (uint64_t)(int64_t)(delta >> 32);
}

/* Converts ticks to ns. A larger `when` never gives a smaller result. */
static inline uint64_t ticks_ns(const struct ticks *ticks, uint64_t when)
{
	const struct ticks_line *line = &ticks->lines[ticks->count - 1];
	uint64_t delta = when - line->start;

	if (__builtin_expect(ticks->identity, 0))
		return when;
	/* most ticks are on the last line, where one unsigned multiplication is enough */
	if (__builtin_expect(when >= line->start && !(delta >> 63), 1))
		return line->ns + (uint64_t)((unsigned __int128)delta * line->factor >> 32);
	return ticks_ns_old(ticks, when);
}

#endif
