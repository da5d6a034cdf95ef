/* SPDX-License-Identifier: MIT */
#ifndef RUN_TIMELINE_H
#define RUN_TIMELINE_H

/*
 * Levels over time, in steps of equal width: the maximum of each step. There are at most
 * TIMELINE_STEPS steps; as time goes on, pairs of steps are merged, so the size is fixed.
 */

#include <stdbool.h>
#include <stdint.h>

#define TIMELINE_STEPS	  256u
#define TIMELINE_WIDTH_NS 4096u /* of a step at first */

enum timeline_level {
	TIMELINE_MEMORY, /* bytes */
	TIMELINE_DESCRIPTORS,
	TIMELINE_THREADS,
	TIMELINE_LOCKS,
	TIMELINE_LEVELS
};

/* Of one process, then of all. All zeros at the start. */
struct timeline {
	uint64_t width_ns; /* of a step; 0: there is none yet */
	uint64_t first;	   /* number of the first step: its time / width */
	uint32_t count;
	uint64_t most[TIMELINE_LEVELS][TIMELINE_STEPS];
	uint64_t now[TIMELINE_LEVELS];
	/* of sampled memory */
	double variance[TIMELINE_STEPS], variance_now;
};

/* Extends the current levels to time_ns. Earlier times are replaced by the latest. */
void timeline_advance(struct timeline *timeline, uint64_t time_ns);

/* Changes a level (never below 0) at time_ns. */
void timeline_change(struct timeline *timeline, enum timeline_level level, int64_t change,
		     uint64_t time_ns);

/* As timeline_change(), for sampled memory, with the variance of the change. */
void timeline_change_estimate(struct timeline *timeline, int64_t change, double variance,
			      uint64_t time_ns);

/* Adds the steps of other. */
void timeline_add(struct timeline *timeline, struct timeline *other);

#endif
