/* SPDX-License-Identifier: MIT */
/*
 * Measures how long capture_again(), capture_walk() and libunwind's unw_backtrace() take for one
 * backtrace. The backtraces have 13 or 33 frames, on an unchanged stack, on a stack whose inner
 * frames change, and in a signal handler. Prints medians of 31 rounds, minus the time of an empty
 * hook.
 *
 *     cc -O2 -I. -Iinclude -o capture bench/capture.c libshim.a -pthread -ldl && ./capture
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "preload/walk/capture.h"

#define NOINLINE __attribute__((noinline))
#define ROUNDS	 31
#define CAPTURES 20000

enum unwinder { NOTHING, AGAIN, OURS, OURS_UNKNOWN, THEIRS, UNWINDERS };

static const char *const names[UNWINDERS] = { "nothing", "capture_again", "capture_walk",
					      "unknown stack", "unw_backtrace" };

static struct stack_bounds bounds;
static int (*unw_backtrace)(void **frames, int size);
static enum unwinder unwinder;
static uintptr_t frames[CAPTURE_DEPTH_MAX];
static unsigned int last_count;
static struct capture_memory memory;

/* Captures a backtrace, as a hook's stub does. */
static NOINLINE void hook(void)
{
	static const struct stack_bounds unknown;
	const struct origin origin = CAPTURE_ORIGIN();
	enum capture_end end;

	if (unwinder == AGAIN) {
		capture_again(&memory, &origin, &bounds, CAPTURE_DEPTH_MAX, &end);
		last_count = memory.count;
	} else if (unwinder == OURS)
		last_count = capture_walk(&origin, &bounds, frames, CAPTURE_DEPTH_MAX, &end);
	else if (unwinder == OURS_UNKNOWN)
		last_count = capture_walk(&origin, &unknown, frames, CAPTURE_DEPTH_MAX, &end);
	else if (unwinder == THEIRS)
		last_count = (unsigned int)unw_backtrace((void **)frames, CAPTURE_DEPTH_MAX);
}

static NOINLINE void same(int depth, long times)
{
	if (depth > 0)
		same(depth - 1, times);
	else
		while (times-- > 0)
			hook();
	__asm__ volatile("");
}

/*
 * Four functions that call each other. The bits of `path` select the functions, so that the
 * innermost frames differ from those of the previous call.
 */
static void branch(int depth, unsigned int path);

#define BRANCH(name)                                                 \
	static NOINLINE void name(int depth, unsigned int path)      \
	{                                                            \
		volatile char room[16 + __LINE__ % 7 * 16] = { 0 };  \
		branch(depth - 1, path / 4 + (unsigned int)room[0]); \
		__asm__ volatile("");                                \
	}

BRANCH(first)
BRANCH(second)
BRANCH(third)
BRANCH(fourth)

static NOINLINE void branch(int depth, unsigned int path)
{
	static void (*const next[])(int depth, unsigned int path) = { first, second, third,
								      fourth };

	if (depth > 0)
		next[path % 4](depth, path);
	else
		hook();
	__asm__ volatile("");
}

static NOINLINE void changing(int depth, long times)
{
	if (depth > 4) {
		changing(depth - 1, times);
	} else {
		for (unsigned int path = 1; times-- > 0; path = path * 1103515245 + 12345)
			branch(2, path >> 16);
	}
	__asm__ volatile("");
}

static long handled_times;

static void on_signal(int signal)
{
	(void)signal;
	for (long left = handled_times; left > 0; left--)
		hook();
}

/* Calls hook() in a signal handler, where the walk must pass the kernel's signal frame. */
static NOINLINE void handled(int depth, long times)
{
	if (depth > 0) {
		handled(depth - 1, times);
	} else {
		handled_times = times;
		raise(SIGUSR1);
	}
	__asm__ volatile("");
}

static double measure(void (*shape)(int depth, long times), int depth)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	shape(depth, CAPTURES);
	clock_gettime(CLOCK_MONOTONIC, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
	       CAPTURES;
}

static void insert(double *sorted, int count, double value)
{
	for (; count > 0 && sorted[count - 1] > value; count--)
		sorted[count] = sorted[count - 1];
	sorted[count] = value;
}

/* Measures all unwinders in each round, so that other load of the machine affects all of them. */
static void report(const char *name, void (*shape)(int depth, long times), unsigned int wanted)
{
	double rounds[UNWINDERS][ROUNDS], ns[UNWINDERS];
	int depth = 5;

	/* find the depth at which the backtrace has `wanted` frames */
	unwinder = OURS;
	while (shape(depth, 1), last_count < wanted)
		depth++;
	for (int round = 0; round < ROUNDS; round++)
		for (unwinder = 0; unwinder < UNWINDERS; unwinder++)
			if (unwinder != THEIRS || unw_backtrace != NULL)
				insert(rounds[unwinder], round, measure(shape, depth));
	for (int i = 0; i < UNWINDERS; i++)
		ns[i] = rounds[i][ROUNDS / 2] - rounds[NOTHING][ROUNDS / 2];
	for (int i = AGAIN; i < UNWINDERS; i++)
		if (i != THEIRS || unw_backtrace != NULL)
			printf("%-9s %3u frames  %-14s %7.1f ns  %5.2f ns a frame  %5.2f of "
			       "libunwind\n",
			       name, wanted, names[i], ns[i], ns[i] / wanted,
			       unw_backtrace != NULL ? ns[i] / ns[THEIRS] : 0);
}

int main(void)
{
	pthread_attr_t attributes;
	void *library = dlopen("libunwind.so.8", RTLD_NOW);
	void *low = NULL;
	size_t size = 0;

	if (library != NULL)
		*(void **)&unw_backtrace = dlsym(library, "unw_backtrace");
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &size);
	pthread_attr_destroy(&attributes);
	bounds.low = (uintptr_t)low;
	bounds.high = (uintptr_t)low + size;
	report("same", same, 13);
	report("same", same, 33);
	report("changing", changing, 13);
	report("changing", changing, 33);
	signal(SIGUSR1, on_signal);
	report("handler", handled, 13);
	report("handler", handled, 33);
	return 0;
}
