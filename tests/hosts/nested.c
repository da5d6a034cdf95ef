/* SPDX-License-Identifier: MIT */
/* Functions whose calls of hooked functions are known by how and how often: see
 * tests/e2e/scaler-frames. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void inner(void)
{
	pthread_mutex_lock(&lock);
	free(malloc(10));
	pthread_mutex_unlock(&lock);
	__asm__ volatile("");
}

__attribute__((noinline)) static void outer(int again)
{
	free(malloc(20));
	inner();
	inner();
	if (again)
		outer(again - 1);
	__asm__ volatile("");
}

__attribute__((noinline)) static void twice(void)
{
	outer(1);
	__asm__ volatile("");
}

static void once(void)
{
	free(malloc(30));
	__asm__ volatile("");
}

static void *work(void *nothing)
{
	outer(0);
	return nothing;
}

int main(void)
{
	pthread_once_t control = PTHREAD_ONCE_INIT;
	pthread_t thread;

	pthread_once(&control, once);
	twice();
	if (pthread_create(&thread, NULL, work, NULL) == 0)
		pthread_join(thread, NULL);
	return 0;
}
