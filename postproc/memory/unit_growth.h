/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_UNIT_GROWTH_H
#define MEMORY_UNIT_GROWTH_H

/*
 * Decides whether a live amount grows with the number of units of work, as a leak does, or
 * saturates, as a cache does. Each point covers some consecutive units, and has the largest and the
 * smallest amount at their ends. The first third of the points of a process is ignored as warm-up.
 *
 * An amount grows if all this is true: it rises in each of eight segments of the points, by at
 * least half of the largest rise; the rises do not decline; no fall exceeds half of the mean rise.
 * It saturates if it never rises in the last half of the points, or if it returns to the same
 * largest amount in both halves. Otherwise the result is unknown: too few units, too much noise, or
 * growth that slows down. A cache must never count as growing, so a leak that noise hides is not
 * found.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unit_verdict { UNIT_SATURATES, UNIT_CANNOT_TELL, UNIT_GROWS };

#define UNIT_POINTS    64u /* maximum number of points */
#define UNIT_RUNS_MIN  3u  /* minimum number of runs, if each point is a run */
#define UNIT_MARKS_MIN 13u /* minimum number of units of one process (each ends with a mark) */

struct unit_growth {
	enum unit_verdict verdict;
	double slope, error; /* for UNIT_GROWS: growth per unit, and its error (95 % confidence) */
};

struct unit_point {
	double units;	  /* units done up to the point's end; increases from point to point */
	double most, low; /* largest and smallest amount at the ends of its units */
};

/*
 * are_runs: each point is the end of a run that did `units` units. Such points are few, but have no
 * noise, so the rise per unit must not decline from run to run.
 */
struct unit_growth unit_growth_decide(const struct unit_point *points, size_t count, bool are_runs);

#endif
