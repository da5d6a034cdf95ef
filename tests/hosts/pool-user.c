/* SPDX-License-Identifier: MIT */
/*
 * Eight threads allocate by the functions of pool.c, and count their calls and bytes themselves:
 * pool-user ROUNDS [LIBRARY [PROGRAM]]. With LIBRARY, the functions are those of a library that the
 * program loads (LOADS). It then executes PROGRAM while a thread runs.
 */
#include "pool.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 8

#ifdef LOADS
static void *library;

static void *wait_for_signal(void *user)
{
	pause();
	return user;
}

#define CALL(name) ((__typeof__(POOL(name)) *)dlsym(library, "je_" #name))
#else
#define CALL(name) POOL(name)
#endif

/* an allocator without the function of C23 */
#ifdef NO_SIZED
#define FREE_SIZED(block, size) CALL(free)(block)
#else
#define FREE_SIZED(block, size) CALL(free_sized)(block, size)
#endif

enum call { MALLOC, CALLOC, REALLOC, FREE, CALLS };

struct counts {
	uint64_t calls[CALLS], bytes, live, live_bytes, seed;
};

static uint64_t rounds;

/* Frees all blocks but one in a thousand rounds. */
static void *work(void *user)
{
	struct counts *counts = user;
	uint64_t state = counts->seed;

	for (uint64_t i = 0; i < rounds; i++) {
		size_t size = (state = state * 6364136223846793005u + 1442695040888963407u) >> 54;
		void *a = CALL(malloc)(size), *b = CALL(calloc)(3, size), *c = NULL;
		void *d = CALL(aligned_alloc)(16, size + 1);

		if (CALL(posix_memalign)(&c, 16, size + 2))
			abort();
		a = CALL(realloc)(a, size * 2 + 8);
		counts->calls[MALLOC] += 3;
		counts->calls[CALLOC]++;
		counts->calls[REALLOC]++;
		counts->calls[FREE] += 3;
		counts->bytes += 8 * size + 11;
		CALL(free)(b);
		FREE_SIZED(c, size + 2);
		CALL(free)(d);
		if (i % 1000 == 999) {
			counts->live++;
			counts->live_bytes += size * 2 + 8;
			continue;
		}
		CALL(free)(a);
		counts->calls[FREE]++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *const names[CALLS] = { "malloc", "calloc", "realloc", "free" };
	struct counts counts[THREADS] = { 0 }, sum = { 0 };
	pthread_t threads[THREADS];

	rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100;
#ifdef LOADS
	library = dlopen(argv[2], RTLD_NOW);
	if (!library)
		return 1;
#endif
	for (int i = 0; i < THREADS; i++) {
		counts[i].seed = (uint64_t)i;
		if (pthread_create(&threads[i], NULL, work, &counts[i]))
			return 1;
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		for (int k = 0; k < CALLS; k++)
			sum.calls[k] += counts[i].calls[k];
		sum.bytes += counts[i].bytes;
		sum.live += counts[i].live;
		sum.live_bytes += counts[i].live_bytes;
	}
#ifdef LOADS
	if (argc > 3 && !pthread_create(&threads[0], NULL, wait_for_signal, NULL))
		execl(argv[3], argv[3], (char *)NULL);
#endif
	for (int k = 0; k < CALLS; k++)
		printf("%s %llu\n", names[k], (unsigned long long)sum.calls[k]);
	printf("bytes %llu\nlive %llu %llu\n", (unsigned long long)sum.bytes,
	       (unsigned long long)sum.live, (unsigned long long)sum.live_bytes);
	return 0;
}
