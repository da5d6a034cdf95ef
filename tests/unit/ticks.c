/* SPDX-License-Identifier: MIT */
#include "collect/ticks.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static int tests, failures;

static void ok(bool good, const char *sentence)
{
	tests++;
	failures += !good;
	printf("%sok %d - %s\n", good ? "" : "not ", tests, sentence);
}

/* ---- against clocks that we make ---- */

/* A simulated counter of 3 ticks per ns. Its drift varies, in parts per million. */
struct fake {
	double ticks, ns;
};

static void pass(struct fake *fake, double ns, double ppm)
{
	fake->ns += ns;
	fake->ticks += ns * 3 * (1 + ppm / 1e6);
}

static struct ticks_pair pair_of(const struct fake *fake)
{
	return (struct ticks_pair){ .ticks = (uint64_t)fake->ticks, .ns = (uint64_t)fake->ns };
}

static void begin(struct ticks *ticks, const struct fake *fake)
{
	ticks_measure(ticks, CONTROL_CLOCK_MONOTONIC);
	ticks->identity = false;
	ticks->first = pair_of(fake);
	ticks->step_ns = 1000000000;
	/* wrong by 100 ppm, as a first short measurement may be */
	ticks->lines[0] = (struct ticks_line){ .start = ticks->first.ticks,
					       .ns = ticks->first.ns,
					       .factor = (uint64_t)(1.0001 / 3 * 4294967296.0) };
}

/* Simulates an hour of drift. Converted times must never decrease, nor change later. */
static void test_drift(void)
{
	struct fake fake = { 1e15, 1e12 };
	struct ticks ticks;
	uint64_t last = 0, told_ticks = 0, told_ns = 0;
	bool rises = true, same = true;
	double worst = 0;

	begin(&ticks, &fake);
	for (int second = 0; second < 3600; second++) {
		struct ticks_pair pair;

		for (int i = 0; i < 100; i++) {
			uint64_t ns = ticks_ns(&ticks, (uint64_t)fake.ticks);
			double error = (double)ns - fake.ns;

			rises = rises && ns >= last;
			last = ns;
			if (second > 3)
				worst = error > worst ? error : -error > worst ? -error : worst;
			pass(&fake, 1e7, second < 1800 ? 20 : -20);
		}
		same = same && (!told_ticks || ticks_ns(&ticks, told_ticks) == told_ns);
		told_ticks = (uint64_t)fake.ticks - 3000;
		told_ns = ticks_ns(&ticks, told_ticks);
		pair = pair_of(&fake);
		ticks_correct(&ticks, &pair);
		if (pair.ns - ticks.first.ns > 64000000000u)
			ticks.first = pair;
	}
	printf("# an hour: %u lines, worst error %.0f ns\n", ticks.count, worst);
	ok(rises, "times rise over an hour of drift");
	ok(same, "an answer stays the same when the clocks are compared again");
	ok(worst < 60000, "a sudden change of 40 ppm is never more than 60 us away");
}

static void test_joints(void)
{
	struct fake fake = { 5e9, 7e9 };
	struct ticks ticks;
	bool joined = true;

	begin(&ticks, &fake);
	for (int i = 0; i < 200; i++) {
		struct ticks_pair pair;
		uint64_t before, at;

		/* each second, the counter gains or loses 1 ms: far more than any real one */
		pass(&fake, 1e9, i % 2 ? 1000 : -1000);
		pair = pair_of(&fake);
		ticks_correct(&ticks, &pair);
		before = ticks_ns(&ticks, pair.ticks - 1);
		at = ticks_ns(&ticks, pair.ticks);
		joined = joined && at >= before && at - before <= 2;
	}
	ok(joined, "lines are joined: neither a step nor a way back");
	ok(ticks.count <= TICKS_LINES, "the table does not grow without end");
	ok(ticks_ns(&ticks, (uint64_t)5e9 - 3000000) <= ticks_ns(&ticks, (uint64_t)5e9),
	   "times before the start are answered, too");
}

static void test_identity(void)
{
	struct ticks ticks;

	ticks_measure(&ticks, CONTROL_CLOCK_MONOTONIC);
	ticks_begin(&ticks);
	ok(ticks_ns(&ticks, 12345) == 12345 && ticks_ns(&ticks, 0) == 0,
	   "CLOCK_MONOTONIC needs no conversion");
}

/* ---- against the real ones ---- */

static void test_real(void)
{
	uint64_t begin_ns, least = UINT64_MAX, worst = 0;
	struct ticks ticks;
	double rate, step;

	if (!counter_is_invariant()) {
		ok(true, "the processor's counter is right # SKIP it has none to trust");
		return;
	}
	ticks_measure(&ticks, CONTROL_CLOCK_COUNTER);
	ticks_begin(&ticks);
	begin_ns = ticks_clock_ns();
	while (ticks_clock_ns() - begin_ns < 1000000000) {
		uint64_t before = ticks_clock_ns();
		uint64_t ns = ticks_ns(&ticks, counter_read_ordered());
		uint64_t after = ticks_clock_ns();
		uint64_t error = ns < before ? before - ns : ns > after ? ns - after : 0;

		worst = error > worst && after - before < 500 ? error : worst;
		least = after - before < least ? after - before : least;
		ticks_compare(&ticks, after);
		usleep(1000);
	}
	rate = (double)(ticks_ns(&ticks, 1ull << 40) - ticks_ns(&ticks, (1ull << 40) - 100000)) /
	       ((double)ticks.lines[ticks.count - 1].factor / 4294967296.0 * 100000);
	printf("# first second: %u lines, worst error %" PRIu64 " ns (a reading takes %" PRIu64
	       "), rate %.6f\n",
	       ticks.count, worst, least, rate);
	step = (double)ticks.lines[ticks.count - 1].factor / 4294967296.0 * COUNTER_TICKS_OF_NS;
	ok(worst < 10000, "in the first second no time is more than 10 us off");
	ok(rate > 0.998 && rate < 1.002, "a microsecond is right to 2 ns");
	ok(step > 0.99 && step < 100, "what takes no step of the counter gets a ns, and not many");
}

int main(void)
{
	test_identity();
	test_drift();
	test_joints();
	test_real();
	printf("1..%d\n", tests);
	return failures != 0;
}
