/* SPDX-License-Identifier: MIT */
/*
 * grows BLOCKS: holds so many blocks of 1,000 bytes and three descriptors; one thread has a lock
 * for which another waits. Says "ready", and goes on by a line of input: as many blocks more each
 * time.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *volatile kept; /* the last one */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void grow(long blocks)
{
	for (long i = 0; i < blocks; i++)
		kept = malloc(1000);
}

__attribute__((noinline)) static void *wait_for_it(void *context)
{
	pthread_mutex_lock(&mutex);
	return context;
}

int main(int argc, char **argv)
{
	long blocks = argc > 1 ? atol(argv[1]) : 100;
	pthread_t thread;
	char byte;

	for (int i = 0; i < 3; i++)
		if (open("/dev/null", O_RDONLY) < 0)
			return 1;
	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, wait_for_it, NULL);
	grow(blocks);
	if (write(1, "ready\n", 6) < 0)
		return 1;
	while (read(0, &byte, 1) > 0)
		if (byte == '\n') {
			grow(blocks);
			if (write(1, "ready\n", 6) < 0)
				return 1;
		}
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	return 0;
}
