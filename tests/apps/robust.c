/* SPDX-License-Identifier: MIT */
/* A robust mutex is taken over from a dead owner; one that was not repaired cannot be taken. */
#include "expect.h"

#include <errno.h>
#include <pthread.h>

static pthread_mutex_t mutex;

static void *die_with_it(void *unused)
{
	pthread_mutex_lock(&mutex);
	return unused;
}

static void lose_owner(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, die_with_it, NULL);
	pthread_join(thread, NULL);
}

int main(void)
{
	pthread_mutexattr_t attributes;
	void *m = &mutex;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&mutex, &attributes);
	lose_owner();
	expect("pthread_mutex_lock<lock>(1) = %p", m);
	if (pthread_mutex_lock(&mutex) != EOWNERDEAD)
		return 1;
	expect("pthread_mutex_lock<lock>(1) = %p", m);
	pthread_mutex_consistent(&mutex);
	pthread_mutex_unlock(&mutex);
	expect("pthread_mutex_consistent<event>(%p)\npthread_mutex_unlock<lock>(%p)", m, m);
	lose_owner();
	expect("pthread_mutex_lock<lock>(1) = %p", m);
	if (pthread_mutex_trylock(&mutex) != EOWNERDEAD)
		return 1;
	pthread_mutex_unlock(&mutex);
	expect("pthread_mutex_trylock<lock>(1) = %p\npthread_mutex_unlock<lock>(%p)", m, m);
	if (pthread_mutex_lock(&mutex) != ENOTRECOVERABLE)
		return 1;
	expect("pthread_mutex_lock<event>(%p)", m);
	pthread_mutex_destroy(&mutex);
	expect("pthread_mutex_destroy<mutex>(%p)", m);
	expect_print();
	return 0;
}
