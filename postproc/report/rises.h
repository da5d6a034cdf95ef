/* SPDX-License-Identifier: MIT */
#ifndef REPORT_RISES_H
#define REPORT_RISES_H

/*
 * What a place held over the windows of a run: at most RISES_WINDOWS of equal length, twice as long
 * each time that the run outgrows them. They begin at multiples of their length, so that those of
 * several processes are put together exactly, and the changes of all windows add up to the whole.
 */

#include <stdint.h>

#define RISES_WINDOWS 16u
#define RISES_LEAST   4u /* that make a growing place, where nobody says otherwise … */
#define RISES_MOST    (RISES_WINDOWS - 1) /* … and at most: in the first nothing was held before */

/* The windows that there are. All zero at first. */
struct rises_axis {
	uint64_t first, last; /* numbers of windows: their time >> shift */
	unsigned shift;	      /* 0: there are none yet */
	uint64_t now_ns;      /* the latest time that it reached */
};

/* Of one place. All zero at first. */
struct rises {
	uint64_t first; /* the number of what stands at 0 */
	unsigned shift;
	unsigned changed; /* bit i: something was gained or lost in window i */
	int64_t now;
	int64_t changes[RISES_WINDOWS];
	int64_t lows[RISES_WINDOWS]; /* the least that was held in it, where it changed */
};

/* The time belongs to a window from now on. */
void rises_reach(struct rises_axis *axis, uint64_t time_ns);

/* So much more (or less) is held from that time on, which axis has reached. */
void rises_add(struct rises *rises, const struct rises_axis *axis, uint64_t time_ns,
	       int64_t amount);

/* Adds what a process held. axis has reached all of its times. */
void rises_merge(struct rises *rises, const struct rises_axis *axis, const struct rises *process);

/*
 * In how many windows more was held than in the one before, by the least of each; 0 where it fell
 * before it was most: what comes and goes does not grow.
 */
unsigned rises_count(const struct rises *rises, const struct rises_axis *axis);

/* What was held at the end of each window; returns how many there are. */
unsigned rises_curve(const struct rises *rises, const struct rises_axis *axis,
		     uint64_t curve[RISES_WINDOWS]);

/* The end of a window, by its place in the curve: the last moment that is part of it. */
uint64_t rises_end(const struct rises_axis *axis, unsigned window);

#endif
