/* SPDX-License-Identifier: MIT */
#include "unit_growth.h"

#include <math.h>

#define SEGMENTS    8u
#define CAP_RETURNS 3u	 /* a full cache is at its maximum in this many points of each half */
#define EVEN_MIN    0.5	 /* minimum rise of a segment, relative to the largest rise */
#define FALL_MAX    0.5	 /* maximum fall, relative to the mean rise of a segment */
#define END_MIN	    0.25 /* minimum rise per unit at the end (is_steady()), relative to the mean */
#define RUNS_MIN    0.99 /* minimum rise per unit between runs, relative to the previous rise */
/* decline of the rise over all segments, relative to the mean: */
#define DECLINE_MIN  0.02 /* a smaller decline is a rounding error */
#define DECLINE_MAX  0.25 /* a larger decline may be that of a cache */
#define DECLINE_SURE 3.0  /* a decline of this many standard errors is not due to chance */

/* quantiles of Student's t for 95 % (two-sided), indexed by degrees of freedom; 0 is unused */
static const double student[] = { 12.71, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36 };

static double mean_of(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum / (double)count;
}

/*
 * Fits a line to the rises of the segments (least squares). Returns true if the rises certainly
 * decline, or if their noise may hide a large decline.
 */
static bool may_decline(const double *rates, size_t count)
{
	double mean = mean_of(rates, count), middle = (double)(count - 1) / 2;
	double product = 0, square = 0, left = 0, decline, error;

	for (size_t i = 0; i < count; i++) {
		product += ((double)i - middle) * (rates[i] - mean);
		square += ((double)i - middle) * ((double)i - middle);
	}
	for (size_t i = 0; i < count; i++)
		left += pow(rates[i] - mean - product / square * ((double)i - middle), 2);
	decline = -product / square * (double)(count - 1);
	error = DECLINE_SURE * sqrt(left / (double)(count - 2) / square) * (double)(count - 1);
	return (decline > DECLINE_MIN * mean && decline > error) ||
	       decline + error > DECLINE_MAX * mean;
}

static bool grows_in_process(const double *rates)
{
	double least = rates[0], most = rates[0];

	for (size_t i = 1; i < SEGMENTS; i++) {
		least = fmin(least, rates[i]);
		most = fmax(most, rates[i]);
	}
	return least > 0 && least >= EVEN_MIN * most && !may_decline(rates, SEGMENTS);
}

static bool grows_in_runs(const double *rates, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rates[i] <= 0 || (i && rates[i] < RUNS_MIN * rates[i - 1]))
			return false;
	return true;
}

static double rate(const struct unit_point *from, const struct unit_point *to)
{
	return (to->most - from->most) / (to->units - from->units);
}

/*
 * Whether the amount also rises steadily within the segments: it never falls much, and it still
 * rises in the second half of the last segment, when a cache may already be full.
 */
static bool is_steady(const struct unit_point *points, size_t count, double mean)
{
	size_t last = count - 1, before = last - (last / SEGMENTS + 1) / 2;
	double rise = mean * (points[last].units - points[0].units) / SEGMENTS;
	double most = points[0].most;

	for (size_t i = 1; i < count; i++) {
		if (most - points[i].low > FALL_MAX * rise)
			return false;
		most = fmax(most, points[i].most);
	}
	return rate(&points[before], &points[last]) >= END_MIN * mean;
}

static bool find_slope(const struct unit_point *points, size_t count, bool are_runs,
		       struct unit_growth *result)
{
	size_t segments = are_runs ? count - 1 : SEGMENTS;
	double rates[UNIT_POINTS], square = 0, mean;

	for (size_t i = 0; i < segments; i++)
		rates[i] = rate(&points[i * (count - 1) / segments],
				&points[(i + 1) * (count - 1) / segments]);
	mean = mean_of(rates, segments);
	if (are_runs ? !grows_in_runs(rates, segments)
		     : !grows_in_process(rates) || !is_steady(points, count, mean))
		return false;
	for (size_t i = 0; i < segments; i++)
		square += pow(rates[i] - mean, 2);
	result->slope = mean;
	result->error = student[segments < SEGMENTS ? segments - 1 : SEGMENTS - 1] *
			sqrt(square / (double)(segments - 1) / (double)segments);
	return result->error < mean;
}

static double most_of(const struct unit_point *points, size_t count)
{
	double most = points[0].most;

	for (size_t i = 1; i < count; i++)
		most = fmax(most, points[i].most);
	return most;
}

static size_t count_equal(const struct unit_point *points, size_t count, double most)
{
	size_t equal = 0;

	for (size_t i = 0; i < count; i++)
		equal += points[i].most >= most;
	return equal;
}

static bool saturates(const struct unit_point *points, size_t count, bool are_runs)
{
	size_t half = are_runs ? count - 2 : count / 2;
	bool rises = false;
	double most;

	for (size_t i = half; i + 1 < count; i++)
		rises |= points[i + 1].most > points[i].most;
	if (!rises || are_runs)
		return !rises;
	most = most_of(points, half);
	return most_of(points + half, count - half) <= most &&
	       count_equal(points, half, most) >= CAP_RETURNS &&
	       count_equal(points + half, count - half, most) >= CAP_RETURNS;
}

struct unit_growth unit_growth_decide(const struct unit_point *points, size_t count, bool are_runs)
{
	struct unit_growth result = { .verdict = UNIT_CANNOT_TELL };
	size_t warm = are_runs ? 0 : count / 3;

	if (count < (are_runs ? UNIT_RUNS_MIN : UNIT_MARKS_MIN))
		return result;
	if (saturates(points + warm, count - warm, are_runs))
		result.verdict = UNIT_SATURATES;
	else if (find_slope(points + warm, count - warm, are_runs, &result))
		result.verdict = UNIT_GROWS;
	return result;
}
