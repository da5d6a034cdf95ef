/* SPDX-License-Identifier: MIT */
#ifndef RUN_TIMELINE_H
#define RUN_TIMELINE_H

/*
 * Levels over time, in steps of equal width: the maximum of each step. There are at most
 * TIMELINE_STEPS steps; as time goes on, pairs of steps are merged, so the size is fixed.
 */

#include <stdbool.h>
#include <stdint.h>

#define TIMELINE_STEPS 256u

enum timeline_level {
	TIMELINE_MEMORY, /* bytes */
	TIMELINE_DESCRIPTORS,
	TIMELINE_THREADS,
	TIMELINE_LOCKS,
	TIMELINE_LEVELS
};

struct timeline_step {
	uint64_t most[TIMELINE_LEVELS];
	double variance; /* of memory, if it was sampled */
};

/* Of one process, then of all. All zeros at the start. */
struct timeline {
	unsigned shift; /* a step is 1 << shift ns; 0: there is no step yet */
	uint64_t first; /* number of the first step: its time >> shift */
	uint32_t count;
	struct timeline_step steps[TIMELINE_STEPS];
	struct timeline_step now;
};

/* Extends the current levels to time_ns. Earlier times are replaced by the latest. */
void timeline_advance(struct timeline *timeline, uint64_t time_ns);

/*
 * Changes a level (never below 0) at time_ns. variance: of the change, if it is of sampled memory;
 * else 0.
 */
void timeline_change(struct timeline *timeline, enum timeline_level level, int64_t change,
		     double variance, uint64_t time_ns);

/* Adds the steps of other. */
void timeline_add(struct timeline *timeline, struct timeline *other);

#endif
