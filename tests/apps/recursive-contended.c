/* SPDX-License-Identifier: MIT */
/*
 * Contended locks alone: a recursive mutex that was waited for is held until the last unlock. What
 * is locked again inside, at once, is one hold and no call of its own.
 * settings: HOLDTRACE_LOCKS=contended
 */
#include "expect.h"

#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_barrier_t barrier;

static void *wait_for_it(void *unused)
{
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutex);
	pthread_mutex_lock(&mutex);
	free(malloc(8001));
	pthread_mutex_unlock(&mutex);
	free(malloc(8002));
	pthread_mutex_unlock(&mutex);
	free(malloc(8003));
	return unused;
}

int main(void)
{
	pthread_t thread;
	void *m = &mutex;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_mutex_lock(&mutex); /* had at once, by another thread: not recorded */
	pthread_create(&thread, NULL, wait_for_it, NULL);
	pthread_barrier_wait(&barrier);
	usleep(50000);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	expect("pthread_mutex_lock<lock>(1) = %p\nmalloc<memory>(8001) = *", m);
	expect("malloc<memory>(8002) = *\npthread_mutex_unlock<lock>(%p)\nmalloc<memory>(8003) = *",
	       m);
	expect_print();
	printf("= 1 pthread_mutex_lock<lock>(1) = %p\n= 1 pthread_mutex_unlock<lock>(%p)\n", m, m);
	return 0;
}
