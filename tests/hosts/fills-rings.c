/* SPDX-License-Identifier: MIT */
/*
 * fills-rings THREADS COUNT: each of so many threads makes that many blocks, as fast as it can.
 * None does before all have a ring, since the share of a ring is the smaller the more rings there
 * are. Then, while all live: how many KiB of shared memory the process has in use.
 */
#include <pthread.h>
#include <string.h>

#include "made.h"

static pthread_barrier_t ready, made, seen;

static void *start(void *argument)
{
	make_silently(1, 1291);
	pthread_barrier_wait(&ready);
	make_silently(*(unsigned long *)argument - 1, 1291);
	pthread_barrier_wait(&made);
	pthread_barrier_wait(&seen);
	return NULL;
}

static void say_shared(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[128];

	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "RssShmem:", 9))
			printf("shared %ld\n", strtol(line + 9, NULL, 10));
	if (status)
		fclose(status);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 16;
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;

	pthread_barrier_init(&ready, NULL, threads);
	pthread_barrier_init(&made, NULL, threads + 1);
	pthread_barrier_init(&seen, NULL, threads + 1);
	for (unsigned i = 0; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, start, &count))
			return 99;
		pthread_detach(thread);
	}
	pthread_barrier_wait(&made);
	say_shared();
	pthread_barrier_wait(&seen);
	say_made(threads * count, 1291);
	return 0;
}
