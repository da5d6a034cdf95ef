/* SPDX-License-Identifier: MIT */
/*
 * Memory workloads that time themselves, so that start and end of a tool do not count:
 *
 *   workload loop DEPTH PAIRS     malloc and free at one depth, always the same stack
 *   workload tree DEPTH PAIRS     the same with stacks that keep changing
 *   workload threads N PAIRS      N threads, half of the blocks freed by a neighbour
 *   workload grow PAIRS           a block that grows by realloc
 *
 * Prints "EVENTS NANOSECONDS" of the timed part.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static unsigned seed = 1;

static unsigned dice(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 16;
}

static __attribute__((noinline)) void pair(size_t size)
{
	void *volatile block = malloc(size);

	free(block);
}

static __attribute__((noinline)) void left(int depth, long pairs, int changing);

static __attribute__((noinline)) void right(int depth, long pairs, int changing)
{
	if (depth > 0)
		left(depth - 1, pairs, changing);
	else
		for (long i = 0; i < pairs; i++)
			pair(16 + (size_t)(i & 63) * 8);
	__asm__ volatile("");
}

static __attribute__((noinline)) void left(int depth, long pairs, int changing)
{
	if (depth > 0 && changing && depth < 6 && dice() & 1)
		right(depth - 1, pairs, changing);
	else if (depth > 0)
		left(depth - 1, pairs, changing);
	else
		for (long i = 0; i < pairs; i++)
			pair(16 + (size_t)(i & 63) * 8);
	__asm__ volatile("");
}

static void *swap_slots[4096];

static void *thread_work(void *argument)
{
	long pairs = *(long *)argument;
	unsigned at = (unsigned)(uintptr_t)&at >> 12;

	for (long i = 0; i < pairs; i++) {
		void *block = malloc(16 + (size_t)(i & 63) * 8);
		void **slot = &swap_slots[(at + (unsigned)i * 7) % 4096];

		free(i & 1 ? __atomic_exchange_n(slot, block, __ATOMIC_ACQ_REL) : block);
	}
	return NULL;
}

static uint64_t run_threads(int count, long pairs)
{
	pthread_t threads[64];
	long share = pairs / count;

	for (int i = 0; i < count && i < 64; i++)
		pthread_create(&threads[i], NULL, thread_work, &share);
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	return (uint64_t)share * (unsigned)count * 2;
}

static uint64_t run_grow(long pairs)
{
	void *block = NULL;

	for (long i = 0; i < pairs; i++) {
		block = realloc(block, 64 + (size_t)(i & 255) * 64);
		if (!block)
			exit(1);
	}
	free(block);
	return (uint64_t)pairs + 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "loop";
	long second = argc > 2 ? atol(argv[2]) : 10, pairs = argc > 3 ? atol(argv[3]) : 300000;
	uint64_t start, events = (uint64_t)pairs * 2;

	free(malloc(1)); /* the tool has started */
	start = now();
	if (strcmp(what, "loop") == 0)
		left((int)second, pairs, 0);
	else if (strcmp(what, "tree") == 0)
		for (long i = 0; i < pairs / 4; i++)
			left((int)second, 4, 1);
	else if (strcmp(what, "threads") == 0)
		events = run_threads((int)second, pairs);
	else
		events = run_grow(second);
	printf("%llu %llu\n", (unsigned long long)events, (unsigned long long)(now() - start));
	return 0;
}
