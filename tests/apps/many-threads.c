/* SPDX-License-Identifier: MIT */
/* 300 threads at once, and each is heard. */
#include "expect.h"

#include <pthread.h>

#define THREADS 300

static pthread_barrier_t barrier;

static void *allocate(void *number)
{
	void *block = malloc(5432);

	pthread_barrier_wait(&barrier);
	free(block);
	return number;
}

int main(void)
{
	static pthread_t threads[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, allocate, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	printf("= %d malloc<memory>(5432) = *\n= %d pthread_barrier_wait<event>(*)\n", THREADS,
	       THREADS);
	printf("= %d pthread_join<thread>(*)\n- ~dropped*\n", THREADS);
	return 0;
}
