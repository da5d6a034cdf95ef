/* SPDX-License-Identifier: MIT */
/*
 * moves-blocks COUNT: four threads resize blocks that they pass to each other. All are of one arena
 * and too large for the threads' own caches, so what one gives back another one gets at once.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define THREADS 4
#define BOXES	16

static void *boxes[BOXES];
static unsigned long count;

static size_t size_of(uint64_t dice)
{
	return 1200 + (dice >> 20) % 3000;
}

static void *work(void *first)
{
	uint64_t dice = 88172645463325252ull + (uintptr_t)first * 7919;
	void *block = malloc(size_of(dice));

	for (unsigned long i = 0; i < count; i++) {
		dice ^= dice << 13;
		dice ^= dice >> 7;
		dice ^= dice << 17;
		block = realloc(block, size_of(dice));
		if (!(dice & 3))
			block = __atomic_exchange_n(&boxes[(dice >> 8) % BOXES], block,
						    __ATOMIC_ACQ_REL);
	}
	free(block);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	mallopt(M_ARENA_MAX, 1);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
