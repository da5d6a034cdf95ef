/* SPDX-License-Identifier: MIT */
/*
 * Tests the detection of growth per unit of work with simulated call sites. No cache and no noise
 * may be reported as growing, and no leak as saturating. Caches fill within at most 96 % of the
 * units, linearly or ever more slowly; a leak has at least 40 leaked objects.
 * "tests/unit/unit_growth SEED N" simulates N call sites of each kind with another seed.
 */
#include "postproc/memory/unit_growth.h"

#include <math.h>
#include <stdlib.h>

#include "tests/lib/tap.h"

#define UNITS_MAX 4096u

static uint64_t state;

/* SplitMix64, so that all machines simulate the same amounts. Returns a number from 0 to 1. */
static double chance(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

static double between(double least, double most)
{
	return least + (most - least) * chance();
}

static unsigned one_of(unsigned count)
{
	return (unsigned)(chance() * count);
}

/* Sum of 12 random numbers: nearly normal, with mean 0 and variance 1. */
static double normal(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += chance();
	return sum;
}

static double at_least_0(double amount)
{
	return amount < 0 ? 0 : floor(amount);
}

/* A constant amount, such as buffers that were allocated at the start. */
static double base(void)
{
	return one_of(2) ? 0 : floor(between(1, 1e6));
}

/* Additional noise. Most programs have none at the ends of units. */
static double noise_of(double amount)
{
	return one_of(2) ? 0 : amount * between(0.0001, 0.2);
}

/* ---- amounts at the ends of units ---- */

static void make_cache(double *amounts, size_t count)
{
	double full = floor(between(10, 1e6)), start = base(), noise = noise_of(full), now = 0;
	double until = between(0.02, 0.96) * (double)count,
	       constant = (double)count * between(0.02, 0.5);
	double period = between(0.05, 0.6) * (double)count, power = between(0.1, 0.7);
	unsigned kind = one_of(6);

	for (size_t i = 0; i < count; i++) {
		double unit = (double)i + 1;

		switch (kind) {
		case 0: /* has the latest entries: full after some units */
			now = full * fmin(1, unit / until);
			break;
		case 1: /* has random keys, ever fewer of which are new */
			now = full * (1 - exp(-unit / constant));
			break;
		case 2: /* doubles until it is full */
			now = fmin(full, pow(2, floor(log2(1 + full * unit / until))));
			break;
		case 3: /* is emptied whenever it is full */
			now = full * fmod(unit, period) / period;
			break;
		case 4: /* has keys as rare as words of a language: grows ever more slowly */
			now = full * pow(unit / (double)count, power);
			break;
		default: /* fills; then entries of other sizes replace old ones */
			now = full * fmin(1, unit / until);
			if (unit > until)
				now -= full * between(0, 0.2);
			break;
		}
		amounts[i] = at_least_0(start + now + noise * normal());
	}
}

static void make_leak(double *amounts, size_t count)
{
	double size = floor(between(1, 5000)), start = base(), now = 0;
	double often = between(fmin(1, 40.0 / (double)count), 1), noise;
	double warm = one_of(2) ? between(0, 0.3) * (double)count : 0, full = between(0, 1e5);
	size_t every = 1 + one_of((unsigned)(count / 40) + 1);
	unsigned kind = one_of(5);

	noise = noise_of(size * (double)count * often);
	for (size_t i = 0; i < count; i++) {
		switch (kind) {
		case 0: /* the same amount in each unit */
			now += size;
			break;
		case 1: /* the same amount in each n-th unit */
			now += i % every ? 0 : size;
			break;
		case 2: /* the same amount in random units */
			now += chance() < often ? size : 0;
			break;
		case 3: /* a random amount in each unit */
			now += between(0, 2 * size);
			break;
		default: /* more in each unit, like a growing list that is copied */
			now += size * (1 + (double)i / (double)count);
			break;
		}
		amounts[i] = at_least_0(start + fmin(1, ((double)i + 1) / (warm + 1)) * full + now +
					noise * normal());
	}
}

static void make_noise(double *amounts, size_t count)
{
	double level = between(10, 1e6), width = level * between(0.001, 1), walk = level,
	       memory = 0;
	double period = between(2, 0.7 * (double)count), keep = between(0.5, 0.999);
	unsigned kind = one_of(6);

	for (size_t i = 0; i < count; i++) {
		switch (kind) {
		case 0:
			walk = level + width * normal();
			break;
		case 1: /* a queue: each change starts from the previous amount */
			walk += width * normal();
			break;
		case 2:
			memory = keep * memory + width * normal();
			walk = level + memory;
			break;
		case 3:
			walk = level + width * sin(6.28318 * (double)i / period);
			break;
		case 4: /* sometimes a large request */
			walk = one_of(20) ? 0 : level;
			break;
		default: /* a queue of a few requests */
			walk = fmax(0, walk > 9 ? 4 : walk + one_of(3) - 1.0);
			break;
		}
		amounts[i] = at_least_0(walk);
	}
}

/* ---- what is said of them ---- */

/* Reduces the amounts to at most UNIT_POINTS points, as the report does. Returns its verdict. */
static enum unit_verdict decide(const double *amounts, size_t count)
{
	struct unit_point points[UNIT_POINTS];
	size_t step = 1;

	while (count / step > UNIT_POINTS)
		step *= 2;
	for (size_t i = 0; i < count / step * step; i++) {
		struct unit_point *point = &points[i / step];

		if (i % step == 0)
			*point = (struct unit_point){ .most = amounts[i], .low = amounts[i] };
		point->units = (double)i + 1;
		point->most = fmax(point->most, amounts[i]);
		point->low = fmin(point->low, amounts[i]);
	}
	return unit_growth_decide(points, count / step, false).verdict;
}

static void simulate(void (*make)(double *amounts, size_t count), size_t runs,
		     size_t said[UNIT_GROWS + 1], const char *what)
{
	static double amounts[UNITS_MAX];

	for (size_t i = 0; i < runs; i++) {
		/* 20 to 4,000 units; small numbers are more frequent */
		size_t count = (size_t)(20 * pow(200, chance()));

		make(amounts, count);
		said[decide(amounts, count)]++;
	}
	printf("# %zu %s: %zu grow, %zu saturate, of %zu cannot be told\n", runs, what,
	       said[UNIT_GROWS], said[UNIT_SATURATES], said[UNIT_CANNOT_TELL]);
}

static void test_simulated(size_t runs)
{
	size_t caches[UNIT_GROWS + 1] = { 0 }, leaks[UNIT_GROWS + 1] = { 0 };
	size_t noises[UNIT_GROWS + 1] = { 0 };

	simulate(make_cache, runs, caches, "caches");
	simulate(make_leak, runs, leaks, "leaks");
	simulate(make_noise, runs, noises, "noisy amounts");
	ok(!caches[UNIT_GROWS], "of simulated caches none is said to grow");
	ok(!leaks[UNIT_SATURATES], "of simulated leaks none is said to saturate");
	ok(!noises[UNIT_GROWS], "of simulated noise nothing is said to grow");
	ok(leaks[UNIT_GROWS] * 3 > runs,
	   "at least a third of the simulated leaks are said to grow");
	ok(caches[UNIT_SATURATES] * 12 > runs,
	   "at least a twelfth of the simulated caches saturate");
}

/* ---- single cases ---- */

static struct unit_growth decide_runs(size_t count, const double *amounts)
{
	struct unit_point points[UNIT_POINTS];

	for (size_t i = 0; i < count; i++)
		points[i] = (struct unit_point){ 100 << i, amounts[i], amounts[i] };
	return unit_growth_decide(points, count, true);
}

static void test_runs(void)
{
	static const double leak[] = { 5500, 10500, 20500, 40500 };
	static const double full[] = { 5500, 10500, 15000, 15000 };
	static const double nearly[] = { 5500, 10500, 20500, 40000 };
	struct unit_growth growth = decide_runs(4, leak);

	ok(growth.verdict == UNIT_GROWS && fabs(growth.slope - 50) < 1e-9 && growth.error < 1e-9,
	   "runs with the same rise by unit grow, by that rise");
	ok(decide_runs(2, leak).verdict == UNIT_CANNOT_TELL, "of two runs nothing can be told");
	ok(decide_runs(4, full).verdict == UNIT_SATURATES,
	   "an amount that is equal in the two longest runs saturates");
	ok(decide_runs(3, full).verdict == UNIT_CANNOT_TELL &&
		   decide_runs(4, nearly).verdict == UNIT_CANNOT_TELL,
	   "of a rise that becomes smaller nothing can be told");
}

static void test_few(void)
{
	double amounts[UNIT_MARKS_MIN];

	for (size_t i = 0; i < UNIT_MARKS_MIN; i++)
		amounts[i] = 48.0 * (double)i;
	ok(decide(amounts, UNIT_MARKS_MIN) == UNIT_GROWS, "a leak is told after 13 units");
	ok(decide(amounts, UNIT_MARKS_MIN - 1) == UNIT_CANNOT_TELL, "but not after 12 units");
}

int main(int argc, char **argv)
{
	state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	test_simulated(argc > 2 ? strtoull(argv[2], NULL, 0) : 1000);
	test_runs();
	test_few();
	return tap_end();
}
