/* SPDX-License-Identifier: MIT */
#ifndef COUNTER_H
#define COUNTER_H

/*
 * The processor's counter as a clock: the time stamp counter of x86-64, cntvct of aarch64. A tick
 * is whatever the processor makes of it; the collector turns ticks into nanoseconds.
 */

#include <stdbool.h>
#include <stdint.h>

/* So many ticks of any processor are a ns or more. More would be a lie where one is 40 ns. */
#if defined(__x86_64__)
#define COUNTER_TICKS_OF_NS 8u /* up to 8 GHz */
#else
#define COUNTER_TICKS_OF_NS 2u /* most are slower than 1 GHz, some a little faster */
#endif

#if defined(__x86_64__)
#include <cpuid.h>

/* May be read a few ns before the instructions in front of it have finished. */
static inline uint64_t counter_read(void)
{
	return __builtin_ia32_rdtsc();
}

/*
 * Not before everything in front of it has finished: plain rdtsc runs ahead of the atomic
 * instruction that took a lock, and two owners of one mutex then seem to overlap.
 */
static inline uint64_t counter_read_ordered(void)
{
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
}

/* Whether the counter runs at one rate in all states of the processor (CPUID 0x80000007, EDX 8). */
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

/* The architecture promises it. */
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
