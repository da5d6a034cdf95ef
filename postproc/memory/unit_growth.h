/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_UNIT_GROWTH_H
#define MEMORY_UNIT_GROWTH_H

/*
 * Decides whether a live amount grows with the number of units of work, as a leak does, or
 * saturates, as a cache does. A point is the range of the amounts at the ends of some units; from
 * the points of one process the first third is dropped as warm-up.
 *
 * It grows if each of eight segments of the points rises, at least half as much as the one that
 * rises most, if the rises do not decline, and if no fall is larger than half of a rise. It
 * saturates if it never rises in the last half of the points, or if it comes back to the same
 * largest amount in both halves. All else is unknown: too few units, noise, growth that slows down.
 * A cache must never be said to grow, so a leak that is hidden in noise is not found.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unit_verdict { UNIT_SATURATES, UNIT_CANNOT_TELL, UNIT_GROWS };

#define UNIT_POINTS    64u /* maximum number of points */
#define UNIT_RUNS_MIN  3u  /* minimum number of runs; of units in one process: */
#define UNIT_MARKS_MIN 13u

struct unit_growth {
	enum unit_verdict verdict;
	double slope,
		error; /* of UNIT_GROWS: amount per unit, and its error with 95 % confidence */
};

struct unit_point {
	double units;	  /* number of units that were done at its end, in increasing order */
	double most, low; /* largest and smallest amount at the ends of its units */
};

/*
 * are_runs: each point is the end of a process that did this number of units. Such points are few,
 * but without noise: the rise per unit must be the same from run to run.
 */
struct unit_growth unit_growth_decide(const struct unit_point *points, size_t count, bool are_runs);

#endif
