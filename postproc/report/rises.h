/* SPDX-License-Identifier: MIT */
#ifndef REPORT_RISES_H
#define REPORT_RISES_H

/*
 * The amount that a place held over the windows of a run: at most RISES_WINDOWS windows of equal
 * length, whose length doubles each time that the run outgrows them. They begin at multiples of
 * their length, so that windows of several processes can be merged exactly, and the changes of all
 * windows add up to the total.
 */

#include <stdint.h>

#define RISES_WINDOWS 16u
#define RISES_LEAST   4u		  /* rises of a growing place, by default */
#define RISES_MOST    (RISES_WINDOWS - 1) /* maximum: the first window cannot rise */

/* The range of windows. All zeros at the start. */
struct rises_axis {
	uint64_t first, last; /* numbers of windows: their time >> shift */
	unsigned shift;	      /* 0: no window yet */
	uint64_t now_ns;      /* the latest time so far */
};

/* The windows of one place. All zeros at the start. */
struct rises {
	uint64_t first; /* the number of the window at index 0 */
	unsigned shift;
	unsigned changed; /* bit i: the amount changed in window i */
	int64_t now;
	int64_t changes[RISES_WINDOWS];
	int64_t lows[RISES_WINDOWS]; /* the minimum in the window, if the amount changed in it */
};

/* Extends the windows to that time. */
void rises_reach(struct rises_axis *axis, uint64_t time_ns);

/* Adds amount (which may be negative) from that time on; axis has reached the time. */
void rises_add(struct rises *rises, const struct rises_axis *axis, uint64_t time_ns,
	       int64_t amount);

/* Adds the amounts of a process. axis has reached all of its times. */
void rises_merge(struct rises *rises, const struct rises_axis *axis, const struct rises *process);

/*
 * The number of windows whose minimum is greater than that of the window before; 0 if the amount
 * fell before its maximum: amounts that come and go do not grow.
 */
unsigned rises_count(const struct rises *rises, const struct rises_axis *axis);

/* The amount at the end of each window; returns the number of windows. */
unsigned rises_curve(const struct rises *rises, const struct rises_axis *axis,
		     uint64_t curve[RISES_WINDOWS]);

/* The end of a window, given its index in the curve: the last moment that is part of it. */
uint64_t rises_end(const struct rises_axis *axis, unsigned window);

#endif
