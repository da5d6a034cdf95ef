/* SPDX-License-Identifier: MIT */
#ifndef REPORT_CURVE_H
#define REPORT_CURVE_H

/*
 * An amount over time in at most CURVE_STEPS steps of equal length: of each the most that there was
 * and what there was last, with their exact times. When time goes on, two steps become one, so
 * memory does not grow, and the greatest and the last of all stay what they were.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CURVE_STEPS 512u

struct curve_step {
	uint64_t most, most_ns, last, last_ns;
	bool is_set; /* else nothing changed in it */
};

/* All zero at first. */
struct curve {
	unsigned shift; /* a step is 1 << shift ns */
	uint64_t first; /* number of the first step: its time >> shift */
	uint64_t now_ns;
	bool has_begun;
	struct curve_step steps[CURVE_STEPS];
};

/* From that time on it is so much. A time before the last one is taken for that. */
void curve_add(struct curve *curve, uint64_t time_ns, uint64_t amount);

/*
 * The points of the curve in the order of time, those of a step that differ: most, then last. *at
 * is 0 at first; false after the last.
 */
bool curve_next(const struct curve *curve, size_t *at, uint64_t *time_ns, uint64_t *amount);

#endif
