/* SPDX-License-Identifier: MIT */
#include "sampling.h"

/*
 * Two probes, otel_memory:alloc(block, bytes, weight) and otel_memory:free(block), pass the sampled
 * blocks to a system-wide profiler. OpenTelemetry's design document 00003, "Memory Profiling",
 * defines them. A probe is a single nop until a profiler replaces it with a breakpoint, and only
 * calls for sampled blocks reach it. A realloc that fails has already reported its block as freed.
 */
#if __has_include(<sys/sdt.h>)
#define STAP_SDT_ARG_CONSTRAINT nr /* no operand that is relative to %fs */
#include <sys/sdt.h>
#else
#define DTRACE_PROBE1(provider, probe, ...) ((void)0)
#define DTRACE_PROBE3(provider, probe, ...) ((void)0)
#endif

#include "call.h"
#include "preload/ground/clock.h"
#include "ring.h"

/* ---- when to sample ---- */

__thread uint64_t sampling_left;
static __thread uint64_t weight; /* number of bytes that the last sampled block represents */
static __thread uint64_t state;	 /* state of the thread's generator; 0: not seeded */

/* The mixing function of splitmix64 (Steele, Lea, Flood 2014): a bijection of 64-bit numbers. */
static uint64_t mix_number(uint64_t number)
{
	number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9ull;
	number = (number ^ number >> 27) * 0x94d049bb133111ebull;
	return number ^ number >> 31;
}

/*
 * Returns -log2(`number` / 2^64) as a fixed-point number with 32 fractional bits. `number` must not
 * be 0. Uses integers only: floating-point operations would set exception flags that the program
 * can read.
 */
static uint64_t bits_below(uint64_t number)
{
	unsigned int zeros = (unsigned int)__builtin_clzll(number);
	uint64_t mantissa = number << zeros, fraction = 0; /* fixed point: 1 + 63 bits */

	for (int i = 0; i < 32; i++) {
		mantissa = (uint64_t)((unsigned __int128)mantissa * mantissa >>
				      64); /* fixed point: 2 + 62 bits */
		fraction <<= 1;
		if (mantissa >> 63)
			fraction |= 1;
		else
			mantissa <<= 1;
	}
	return ((uint64_t)(zeros + 1) << 32) - fraction;
}

/* Draws the number of bytes to the next sample: exponentially distributed, mean life.sample. */
static uint64_t draw_distance(void)
{
	static const uint64_t ln2 = 0xb17217f8; /* fixed point: 0 + 32 bits */
	uint64_t number;

	do
		number = mix_number(state += 0x9e3779b97f4a7c15ull);
	while (!number);
	return (uint64_t)(((unsigned __int128)bits_below(number) * ln2 >> 32) * life.sample >> 32);
}

bool sampling_hit(uint64_t bytes)
{
	static uint64_t threads;

	if (!state) {
		uint64_t which = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);

		state = mix_number(life.control->secret[0] ^ (uint64_t)life.pid << 32 ^ which) ^
			mix_number(clock_now()) ^ (uintptr_t)&state;
		state |= 1;
		sampling_left = draw_distance();
		if (bytes <= sampling_left) {
			sampling_left -= bytes;
			return false;
		}
	}
	/*
	 * A block may contain several samples, but is recorded once. Its weight is the mean
	 * distance for each sample, or its own size if it is so large that it always has a sample.
	 */
	weight = bytes;
	if (bytes / life.sample >= 16) {
		sampling_left = draw_distance();
		return true;
	}
	for (weight = 0; bytes > sampling_left; weight += life.sample) {
		bytes -= sampling_left;
		sampling_left = draw_distance();
	}
	sampling_left -= bytes;
	return true;
}

void sampling_forked(void)
{
	state = 0;
	sampling_left = 0;
}

/* ---- which blocks are recorded ---- */

/*
 * A hash table of the recorded blocks, with several levels, each eight times as large as the
 * previous one. A bucket is one cache line. A block has one bucket in each level, and is stored in
 * the first of these buckets that has a free entry. A bucket that was full is marked SPILLED. So a
 * look-up reads one cache line, rarely two, and a small number of blocks uses a small number of
 * cache lines. One atomic store sets or clears an entry. Only the block's owner looks a block up.
 */
#define BUCKET 8u
/* the last level has no table: it uses the bucket next to the block's in the level before */
#define LEVELS	   5u
#define FIRST_BITS 6u
#define STEP_BITS  3u
/* in a bucket's first entry: some blocks of this bucket are stored in the next level */
#define SPILLED 1ull

static SPARSE uint64_t first[(1u << FIRST_BITS) * BUCKET] __attribute__((aligned(64)));
static SPARSE uint64_t second[(8u << FIRST_BITS) * BUCKET] __attribute__((aligned(64)));
static SPARSE uint64_t third[(64u << FIRST_BITS) * BUCKET] __attribute__((aligned(64)));
static SPARSE uint64_t fourth[(512u << FIRST_BITS) * BUCKET] __attribute__((aligned(64)));
static uint64_t *const levels[LEVELS] = { first, second, third, fourth, fourth };

void sampling_renew(void)
{
	for (unsigned int level = 0; level < LEVELS - 1; level++)
		for (unsigned int i = 0; i < (BUCKET << FIRST_BITS) << STEP_BITS * level; i++)
			if (__atomic_load_n(&levels[level][i], __ATOMIC_RELAXED))
				__atomic_store_n(&levels[level][i], 0, __ATOMIC_RELAXED);
}

/*
 * The table's key of a block. Blocks have even addresses. The table stores the complement of an
 * address, so that a scan for pointers to blocks finds none in this table.
 */
static inline uint64_t key_of(uintptr_t block)
{
	return ~(uint64_t)block & ~SPILLED;
}

static inline uint64_t *bucket_of(unsigned int level, uint64_t key)
{
	uint64_t hash = (key >> 4) * 0x9e3779b97f4a7c15ull;

	unsigned int step = level < LEVELS - 1 ? level : LEVELS - 2;

	hash >>= 64 - FIRST_BITS - STEP_BITS * step;
	return levels[level] + (hash ^ (level != step)) * BUCKET;
}

static bool put_there(uint64_t *bucket, uint64_t key)
{
	for (unsigned int i = 0; i < BUCKET; i++) {
		uint64_t there = __atomic_load_n(&bucket[i], __ATOMIC_RELAXED);

		while (!(there & ~SPILLED))
			if (__atomic_compare_exchange_n(&bucket[i], &there, key | there, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
				return true;
	}
	__atomic_fetch_or(bucket, SPILLED, __ATOMIC_RELAXED);
	return false;
}

bool sampling_put(uintptr_t block)
{
	uint64_t key = key_of(block);

	for (unsigned int level = 0; !(block & SPILLED) && level < LEVELS; level++)
		if (put_there(bucket_of(level, key), key))
			return true;
	return false;
}

/* Returns the block's index in the bucket, or BUCKET. mark: the bucket's first entry. */
static inline unsigned int place_in(const uint64_t *bucket, uint64_t mark, uint64_t key)
{
	if ((mark & ~SPILLED) == key)
		return 0;
#pragma GCC unroll 7
	for (unsigned int i = 1; i < BUCKET; i++)
		if (__atomic_load_n(&bucket[i], __ATOMIC_RELAXED) == key)
			return i;
	return BUCKET;
}

static __attribute__((noinline)) bool take_sampled(uint64_t key)
{
	for (unsigned int level = 0; level < LEVELS; level++) {
		uint64_t *bucket = bucket_of(level, key);
		uint64_t mark = __atomic_load_n(bucket, __ATOMIC_RELAXED);
		unsigned int place = place_in(bucket, mark, key);

		if (place < BUCKET) {
			__atomic_fetch_and(&bucket[place], SPILLED, __ATOMIC_RELAXED);
			DTRACE_PROBE1(otel_memory, free, ~key & ~SPILLED);
			return true;
		}
		if (!(mark & SPILLED))
			break;
	}
	return false;
}

/* Nearly always, the bucket of the first level shows that the block is not in the table. */
bool sampling_take(uintptr_t block)
{
	uint64_t key = key_of(block);
	const uint64_t *bucket = bucket_of(0, key);
	uint64_t mark = __atomic_load_n(bucket, __ATOMIC_RELAXED);

	if (likely(!(mark & SPILLED) && place_in(bucket, mark, key) == BUCKET))
		return false;
	return take_sampled(key);
}

/* ---- the event ---- */

bool sampling_settle(struct call *call, struct call_event *event, enum sampling_pick pick,
		     uintptr_t old)
{
	bool is_kept;

	if (event->failed || event->operation != OPERATION_ALLOC) {
		if (event->failed && pick & SAMPLING_LOSES && !sampling_put(old))
			ring_drop(call->thread, LOSS_SAMPLE);
		return true;
	}
	is_kept = pick & SAMPLING_GAINS && sampling_put((uintptr_t)event->object);
	if (is_kept)
		DTRACE_PROBE3(otel_memory, alloc, event->object, event->size, weight);
	if (pick & SAMPLING_GAINS && !is_kept)
		ring_drop(call->thread, LOSS_SAMPLE);
	/* the old block was recorded, but the new block is not: record the free of the old block */
	if (!is_kept && pick & SAMPLING_LOSES) {
		event->operation = OPERATION_FREE;
		event->moment = MOMENT_ENTER;
		event->object = old;
		event->size = event->related = 0;
	}
	return is_kept || pick & SAMPLING_LOSES;
}
