/* SPDX-License-Identifier: MIT */
/*
 * Destructors of thread-local data allocate, set the data again and are called again; libc frees
 * more behind them.
 */
#include <pthread.h>
#include <string.h>

#include "made.h"

#define THREADS 50

static pthread_key_t keys[3];
static unsigned calls;

static void destroy(void *value)
{
	int *rounds = value;

	make_silently(1, 1041);
	__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	if (--*rounds > 0)
		pthread_setspecific(keys[0], value);
	else
		free(value);
}

static void *start(void *argument)
{
	for (int i = 0; i < 3; i++) {
		int *rounds = malloc(sizeof(int));

		*rounds = 2;
		pthread_setspecific(keys[i], rounds);
	}
	strerror(100000); /* libc keeps a text of this thread */
	return argument;
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		pthread_key_create(&keys[i], destroy);
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, start, NULL);
		pthread_join(thread, NULL);
	}
	printf("%u destructors\n", calls);
	fflush(stdout);
	say_made(calls, 1041);
	return 0;
}
