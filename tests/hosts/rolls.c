/* SPDX-License-Identifier: MIT */
/*
 * rolls MS [LEAST [BLOCKS]]: holds from the start 100 blocks of 1,000 bytes, two descriptors, a
 * stream, a recursive lock taken three times, and a mapping of ten pages whose middle two are gone.
 * Until so much time has passed: threads that come and go, blocks that come and go, and now and
 * then a block of 10,000 bytes that stays. Then says how many of those there are, and waits for the
 * end of its input. LEAST: as many blocks have to come and go at least. BLOCKS: so many of 16 to 79
 * bytes are held from the start.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u

void *volatile kept; /* the last one */
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

__attribute__((noinline)) static void hold(void)
{
	char *pages = mmap(NULL, 10 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 100; i++)
		kept = malloc(1000);
	munmap(pages + 4 * PAGE, 2 * PAGE);
	for (int i = 0; i < 3; i++)
		pthread_mutex_lock(&mutex);
	if (open("/dev/null", O_RDONLY) < 0 || open("/dev/zero", O_RDONLY) < 0 ||
	    !fopen("/dev/full", "w"))
		exit(1);
}

__attribute__((noinline)) static void drip(void)
{
	kept = malloc(10000);
}

__attribute__((noinline)) static void churn(int count)
{
	static __thread unsigned random = 1;
	void *blocks[16] = { 0 };

	for (int i = 0; i < count; i++) {
		random = random * 1103515245 + 12345; /* sizes that a trace cannot foresee */
		free(blocks[i % 16]);
		blocks[i % 16] = malloc(16 + (random >> 16 & 4095));
	}
	for (int i = 0; i < 16; i++)
		free(blocks[i]);
}

__attribute__((noinline)) static void fill(long count)
{
	unsigned random = 1;

	for (long i = 0; i < count; i++) {
		random = random * 1103515245 + 12345;
		kept = malloc(16 + (random >> 16 & 511));
	}
}

static void *breathe(void *context)
{
	churn(10);
	return context;
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	double until = now_ms() + (argc > 1 ? atof(argv[1]) : 1000);
	long least = argc > 2 ? atol(argv[2]) : 0, drips = 0;
	char byte;

	hold();
	fill(argc > 3 ? atol(argv[3]) : 0);
	for (long i = 0; now_ms() < until || i * 1000 < least; i++) {
		pthread_t thread;

		churn(1000);
		if (!least)
			usleep(2000);
		if (i % 16)
			continue;
		drip();
		drips++;
		if (!pthread_create(&thread, NULL, breathe, NULL))
			pthread_join(thread, NULL);
	}
	printf("ready %ld\n", drips);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
