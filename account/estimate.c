/* SPDX-License-Identifier: MIT */
#include "account/estimate.h"

#include <math.h>

/* half the width of the 95 % interval of the standard normal distribution */
#define WIDTH_95 1.959964
/* -ln(0.05): a Poisson variable with this mean is 0 with probability 5 % */
#define UNSEEN_95 2.995732

/*
 * Maps numbers to [0, 1), uniformly even if the numbers are consecutive (the finalizer of
 * splitmix64).
 */
static double fraction_of(uint64_t number)
{
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9ull;
	number = (number ^ number >> 27) * 0x94d049bb133111ebull;
	return (double)((number ^ number >> 31) >> 11) / (double)(1ull << 53);
}

struct estimate estimate_block(uint64_t sample, uint64_t size, uint64_t index)
{
	double asked = size ? (double)size : 1; /* the library samples an empty block as one byte */
	double weight = -1 / expm1(-asked / (double)sample);
	double whole = floor(weight), part = weight - whole, bytes = (double)size;

	return (struct estimate){
		.count = (uint64_t)whole + (fraction_of(index + 1) < part),
		.bytes = size < 1ull << 62 ? (uint64_t)(weight * bytes + 0.5) : size,
		.variance = weight * (weight - 1) * bytes * bytes,
		.count_variance = weight * (weight - 1) + part * (1 - part),
	};
}

uint64_t estimate_error(double variance)
{
	return variance > 0 ? (uint64_t)ceil(WIDTH_95 * sqrt(variance)) : 0;
}

/*
 * Few small blocks are sampled, each with a large weight, so the interval of a normal distribution
 * would be too narrow. Instead, `count` is treated as the total weight of events with equal
 * weights. Their weight is an average to which each block contributes in proportion to its own
 * weight. The number of events, `count` / weight, has a Poisson distribution. The upper end of its
 * interval is half of the quantile of chi squared with 2 (events + 1) degrees of freedom, in the
 * approximation of Wilson and Hilferty.
 */
uint64_t estimate_count_error(uint64_t count, double variance)
{
	double weight, events, degrees, spread, root;

	if (variance <= 0 || !count)
		return 0;
	weight = variance / (double)count;
	events = (double)count / weight;
	degrees = 2 * (events + 1);
	spread = 2 / (9 * degrees);
	root = 1 - spread + WIDTH_95 * sqrt(spread);
	return (uint64_t)ceil(weight * (degrees / 2 * root * root * root - events));
}

uint64_t estimate_error_most(uint64_t sample, uint64_t amount)
{
	return estimate_error((double)sample * (double)amount);
}

uint64_t estimate_unseen(uint64_t sample)
{
	return (uint64_t)ceil(UNSEEN_95 * (double)sample);
}
