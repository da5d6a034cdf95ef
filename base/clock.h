/* SPDX-License-Identifier: MIT */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_OF_SECOND 1000000000ull

/* Returns CLOCK_MONOTONIC, in ns. */
static inline uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_OF_SECOND + (uint64_t)now.tv_nsec;
}

#endif
