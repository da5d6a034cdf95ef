/* SPDX-License-Identifier: MIT */
/* A recursive mutex is held until it was unlocked as often as it was locked. */
#include "expect.h"

#include <pthread.h>
#include <threads.h>

int main(void)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t mutex;
	mtx_t c11;
	void *m = &mutex, *c = &c11;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&mutex, &attributes);
	mtx_init(&c11, mtx_plain | mtx_recursive);
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&mutex);
		mtx_lock(&c11);
		expect("pthread_mutex_lock<lock>(1) = %p\nmtx_lock<lock>(1) = %p", m, c);
	}
	pthread_mutex_trylock(&mutex);
	expect("pthread_mutex_trylock<lock>(1) = %p", m);
	for (int i = 0; i < 3; i++) {
		mtx_unlock(&c11);
		pthread_mutex_unlock(&mutex);
		expect("mtx_unlock<lock>(%p)\npthread_mutex_unlock<lock>(%p)", c, m);
	}
	pthread_mutex_unlock(&mutex);
	pthread_mutex_unlock(&mutex);
	expect("pthread_mutex_unlock<lock>(%p)\npthread_mutex_unlock<event>(%p)", m, m);
	expect_print();
	return 0;
}
