/* SPDX-License-Identifier: MIT */
#ifndef REPORT_CURVE_H
#define REPORT_CURVE_H

/*
 * An amount over time, in at most CURVE_STEPS steps of equal length. Each step has its maximum and
 * its last amount, with their exact times. When the curve gets longer, pairs of steps are merged,
 * so the size of the struct is fixed. The maximum and the last amount of the whole curve are always
 * exact.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CURVE_STEPS 512u

struct curve_step {
	uint64_t most, most_ns, last, last_ns;
	bool is_set; /* false: the amount did not change in this step */
};

/* Initialise it with zeros. */
struct curve {
	unsigned shift; /* a step is 1 << shift ns */
	uint64_t first; /* number of the first step: the time of its start >> shift */
	uint64_t now_ns;
	bool has_begun;
	struct curve_step steps[CURVE_STEPS];
};

/*
 * Sets the amount from time_ns on. If time_ns is earlier than in the previous call, uses the time
 * of that call.
 */
void curve_add(struct curve *curve, uint64_t time_ns, uint64_t amount);

/*
 * Iterates over the points of the curve in the order of time. Set *at to 0 before the first call.
 * Returns false after the last point. A step has a point for its maximum and, if it differs, one
 * for its last amount.
 */
bool curve_next(const struct curve *curve, size_t *at, uint64_t *time_ns, uint64_t *amount);

#endif
