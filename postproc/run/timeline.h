/* SPDX-License-Identifier: MIT */
#ifndef RUN_TIMELINE_H
#define RUN_TIMELINE_H

/*
 * Live amounts (levels) over time. Time is divided into steps of equal length, and a step has the
 * maximum of each level. There are at most TIMELINE_STEPS steps: when the run gets longer, pairs of
 * steps are merged, so the struct has a fixed size.
 */

#include <stdbool.h>
#include <stdint.h>

#define TIMELINE_STEPS 256u

enum timeline_level {
	TIMELINE_MEMORY, /* live memory in bytes */
	TIMELINE_DESCRIPTORS,
	TIMELINE_THREADS,
	TIMELINE_LOCKS,
	TIMELINE_LEVELS
};

struct timeline_step {
	uint64_t most[TIMELINE_LEVELS];
	double variance; /* variance of the memory level, if memory was sampled */
};

/* The levels of a process or of the whole run, over time. Initialise it with zeros. */
struct timeline {
	unsigned shift; /* a step is 1 << shift ns; 0: there is no step yet */
	uint64_t first; /* number of the first step: its time >> shift */
	uint32_t count;
	struct timeline_step steps[TIMELINE_STEPS];
	struct timeline_step now;
};

/*
 * Adds steps with the current levels up to time_ns. Does nothing if time_ns is earlier than the
 * latest time.
 */
void timeline_advance(struct timeline *timeline, uint64_t time_ns);

/*
 * Changes a level by `change` at time_ns, but not below 0. variance: the variance of `change` if
 * memory was sampled, otherwise 0.
 */
void timeline_change(struct timeline *timeline, enum timeline_level level, int64_t change,
		     double variance, uint64_t time_ns);

/*
 * Adds the levels of `other`. First merges pairs of steps until the steps of both timelines are
 * equally long.
 */
void timeline_add(struct timeline *timeline, struct timeline *other);

#endif
