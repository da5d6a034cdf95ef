/* SPDX-License-Identifier: MIT */
/*
 * Contended locks alone: a recursive mutex that was waited for is held until the last unlock. What
 * is locked again inside, at once, is one hold and no call of its own. A robust mutex, and one that
 * lends its priority, is never tried, so each of its locks is recorded, and each unlock.
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

static pthread_mutex_t robust, lends;

static void lock_twice(pthread_mutex_t *special, int robustness, int protocol)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutexattr_setrobust(&attributes, robustness);
	pthread_mutexattr_setprotocol(&attributes, protocol);
	pthread_mutex_init(special, &attributes);
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(special);
		pthread_mutex_lock(special);
		pthread_mutex_unlock(special);
		pthread_mutex_unlock(special);
	}
	printf("= 6 pthread_mutex_lock<lock>(1) = %p\n= 6 pthread_mutex_unlock<lock>(%p)\n",
	       (void *)special, (void *)special);
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
	lock_twice(&robust, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
	lock_twice(&lends, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
	return 0;
}
