/* SPDX-License-Identifier: MIT */
#ifndef REPORT_CURVE_H
#define REPORT_CURVE_H

/*
 * An amount over time in at most CURVE_STEPS steps of equal length: each step has its maximum and
 * its last amount, with their exact times. As time goes on, pairs of steps are merged, so the size
 * is fixed, and the maximum and the last amount of the whole stay exact.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CURVE_STEPS 512u

struct curve_step {
	uint64_t most, most_ns, last, last_ns;
	bool is_set; /* false: nothing changed in it */
};

/* All zeros at the start. */
struct curve {
	unsigned shift; /* a step is 1 << shift ns */
	uint64_t first; /* number of the first step: its time >> shift */
	uint64_t now_ns;
	bool has_begun;
	struct curve_step steps[CURVE_STEPS];
};

/* The amount from that time on. A time before the last one is replaced by the last one. */
void curve_add(struct curve *curve, uint64_t time_ns, uint64_t amount);

/*
 * The points of the curve in the order of time; a step has two if they differ: maximum, then last.
 * *at is 0 at first; returns false after the last point.
 */
bool curve_next(const struct curve *curve, size_t *at, uint64_t *time_ns, uint64_t *amount);

#endif
