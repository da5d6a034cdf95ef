/* SPDX-License-Identifier: MIT */
#ifndef CLOCK_H
#define CLOCK_H

/*
 * Ticks of the run: the processor's counter where it can be trusted, else CLOCK_MONOTONIC in ns by
 * libc's vDSO path (no system call). All processes of a run use what the arena's maker chose.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "counter.h"

extern bool clock_is_counter;

static inline uint64_t clock_monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* May run ahead of the instructions before it: for times that no order depends on. */
static inline uint64_t clock_now(void)
{
	return clock_is_counter ? counter_read() : clock_monotonic();
}

/*
 * The time at which something happens: not before the atomic by which this thread got the block
 * that it is about to free, nor before the one by which it took a lock. With the plain clock up to
 * 2,000 of 2e7 frees sorted before the malloc of their block.
 */
static inline uint64_t clock_now_ordered(void)
{
	return clock_is_counter ? counter_read_ordered() : clock_monotonic();
}

/*
 * The end of what began at a time, later by a ns or more: a step of some counters is 10 ns, and
 * what takes no step has a duration all the same.
 */
static inline uint64_t clock_after(uint64_t begin, uint64_t end)
{
	uint64_t least = begin + COUNTER_TICKS_OF_NS;

	return end > least ? end : least;
}

/*
 * glibc's word for a process that has one thread (sys/single_threaded.h), where there is one. It
 * knows no threads by a bare clone(2), for whom its own allocator is not safe either.
 */
extern char __libc_single_threaded __attribute__((weak));

static inline bool clock_is_alone(void)
{
	return &__libc_single_threaded && __libc_single_threaded;
}

#endif
