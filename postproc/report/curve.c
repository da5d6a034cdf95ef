/* SPDX-License-Identifier: MIT */
#include "curve.h"

#define SHIFT_FIRST 12u /* log2 of the initial length of a step in ns: 4096 ns */

/* Merges a later step into *step. */
static void merge_step(struct curve_step *step, const struct curve_step *later)
{
	struct curve_step earlier = *step;

	if (!later->is_set)
		return;
	*step = *later;
	if (!earlier.is_set || earlier.most < later->most)
		return;
	step->most = earlier.most;
	step->most_ns = earlier.most_ns;
}

void curve_add(struct curve *curve, uint64_t time_ns, uint64_t amount)
{
	struct curve_step now = { amount, 0, amount, 0, true };
	unsigned by = 0;

	if (time_ns < curve->now_ns)
		time_ns = curve->now_ns;
	curve->now_ns = now.most_ns = now.last_ns = time_ns;
	if (!curve->has_begun) {
		curve->has_begun = true;
		curve->shift = SHIFT_FIRST;
		curve->first = time_ns >> curve->shift;
	}
	while ((time_ns >> (curve->shift + by)) - (curve->first >> by) >= CURVE_STEPS)
		by++;
	if (by) {
		uint64_t first = curve->first >> by;
		struct curve_step *steps = curve->steps;

		for (uint64_t i = 0; i < CURVE_STEPS; i++) {
			struct curve_step step = steps[i];
			uint64_t to = ((curve->first + i) >> by) - first;

			steps[i] = (struct curve_step){ 0 };
			merge_step(&steps[to], &step);
		}
		curve->first = first;
		curve->shift += by;
	}
	merge_step(&curve->steps[(time_ns >> curve->shift) - curve->first], &now);
}

bool curve_next(const struct curve *curve, size_t *at, uint64_t *time_ns, uint64_t *amount)
{
	for (; *at < CURVE_STEPS * 2; ++*at) {
		const struct curve_step *step = &curve->steps[*at / 2];
		bool is_last = *at % 2;

		if (!step->is_set ||
		    (is_last && step->last_ns == step->most_ns && step->last == step->most))
			continue;
		*time_ns = is_last ? step->last_ns : step->most_ns;
		*amount = is_last ? step->last : step->most;
		++*at;
		return true;
	}
	return false;
}
