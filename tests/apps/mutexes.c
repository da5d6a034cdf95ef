/* SPDX-License-Identifier: MIT */
/* A mutex exists from init to destroy and is held from lock to unlock. */
#include "expect.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

int main(void)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t mutex;
	struct timespec until = { .tv_sec = 1 };
	void *m = &mutex;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&mutex, &attributes);
	expect("pthread_mutex_init<mutex>(1) = %p", m);
	pthread_mutex_lock(&mutex);
	expect("pthread_mutex_lock<lock>(1) = %p", m);
	if (pthread_mutex_trylock(&mutex) != EBUSY || pthread_mutex_lock(&mutex) != EDEADLK)
		return 1;
	expect("pthread_mutex_trylock<event>(%p)\npthread_mutex_lock<event>(%p)", m, m);
	pthread_mutex_unlock(&mutex);
	expect("pthread_mutex_unlock<lock>(%p)", m);
	pthread_mutex_timedlock(&mutex, &until);
	expect("pthread_mutex_timedlock<lock>(1) = %p\n\t$until = 1.000000000", m);
	pthread_mutex_unlock(&mutex);
	expect("pthread_mutex_unlock<lock>(%p)", m);
	if (pthread_mutex_unlock(&mutex) != EPERM)
		return 1;
	expect("pthread_mutex_unlock<event>(%p)", m);
	pthread_mutex_destroy(&mutex);
	expect("pthread_mutex_destroy<mutex>(%p)", m);
	expect_print();
	return 0;
}
