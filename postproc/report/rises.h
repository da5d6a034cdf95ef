/* SPDX-License-Identifier: MIT */
#ifndef REPORT_RISES_H
#define REPORT_RISES_H

/*
 * The live amount of a call site over time, in at most RISES_WINDOWS windows of equal length. When
 * a longer run does not fit into the windows, their length is doubled. Windows begin at multiples
 * of their length, so that the windows of several processes can be merged exactly. The changes of
 * all windows add up to the amount at the end.
 */

#include <stdint.h>

#define RISES_WINDOWS 16u
/* default of --growing: a call site grows if its amount rises in at least this many windows */
#define RISES_LEAST 4u
/* maximum of --growing: the first window cannot rise, because no window precedes it */
#define RISES_MOST (RISES_WINDOWS - 1)

/* The range of windows in use. Initialise it with zeros. */
struct rises_axis {
	uint64_t first, last; /* numbers of the first and the last window: time >> shift */
	unsigned shift;	      /* a window is 1 << shift ns; 0: there is no window yet */
	uint64_t now_ns;      /* latest time so far */
};

/* The windows of one call site. Initialise it with zeros. */
struct rises {
	uint64_t first; /* number of the window at index 0 */
	unsigned shift;
	unsigned changed; /* bit i: the amount changed in window i */
	int64_t now;
	int64_t changes[RISES_WINDOWS];
	/* minimum in the window; valid if the amount changed in the window */
	int64_t lows[RISES_WINDOWS];
};

/* Extends the range of windows so that it includes this time. */
void rises_reach(struct rises_axis *axis, uint64_t time_ns);

/*
 * Adds `amount`, which may be negative, to the live amount from this time on. Call rises_reach()
 * for this time first.
 */
void rises_add(struct rises *rises, const struct rises_axis *axis, uint64_t time_ns,
	       int64_t amount);

/* Adds the amounts of a process. Call rises_reach() for all times of the process first. */
void rises_merge(struct rises *rises, const struct rises_axis *axis, const struct rises *process);

/*
 * Returns how often the minimum of a window is greater than that of the previous window, counted up
 * to the window with the largest minimum. Returns 0 if, up to that window, a minimum is smaller
 * than the one before it: an amount that rises and falls does not grow.
 */
unsigned rises_count(const struct rises *rises, const struct rises_axis *axis);

/* Sets curve[] to the amount at the end of each window. Returns the number of windows. */
unsigned rises_curve(const struct rises *rises, const struct rises_axis *axis,
		     uint64_t curve[RISES_WINDOWS]);

/* Returns the last time, in ns, that belongs to a window. window: index in the curve. */
uint64_t rises_end(const struct rises_axis *axis, unsigned window);

#endif
