/* SPDX-License-Identifier: MIT */
#ifndef COUNTER_H
#define COUNTER_H

/*
 * The processor's counter as a clock: the time stamp counter of x86-64, cntvct of aarch64. The
 * length of a tick depends on the processor; the collector converts ticks to nanoseconds.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * A number of ticks that lasts at least 1 ns on every known processor. The number should be small,
 * since on some processors one tick lasts 40 ns.
 */
#if defined(__x86_64__)
#define COUNTER_TICKS_OF_NS 8u /* for processors of up to 8 GHz */
#else
/* most counters run below 1 GHz, some slightly above */
#define COUNTER_TICKS_OF_NS 2u
#endif

#if defined(__x86_64__)
#include <cpuid.h>

/* The processor may read the counter a few ns before earlier instructions have finished. */
static inline uint64_t counter_read(void)
{
	return __builtin_ia32_rdtsc();
}

/*
 * Reads the counter after all earlier instructions have finished. A plain rdtsc can be executed
 * before the atomic instruction that acquires a lock, so that two owners of a mutex would seem to
 * hold it at the same time.
 */
static inline uint64_t counter_read_ordered(void)
{
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
}

/* Whether the counter's rate never changes (CPUID 0x80000007, EDX bit 8). */
static inline bool counter_is_invariant(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8);
}

#elif defined(__aarch64__)

static inline uint64_t counter_read(void)
{
	uint64_t value;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
	return value;
}

static inline uint64_t counter_read_ordered(void)
{
	uint64_t value;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value) : : "memory");
	return value;
}

/* the architecture guarantees a constant rate */
static inline bool counter_is_invariant(void)
{
	return true;
}

#else

static inline uint64_t counter_read(void)
{
	return 0;
}

static inline uint64_t counter_read_ordered(void)
{
	return 0;
}

static inline bool counter_is_invariant(void)
{
	return false;
}

#endif
#endif
