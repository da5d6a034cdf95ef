/* SPDX-License-Identifier: MIT */
/* A wait by a clock of one's choice; one that is refused leaves the mutex as it was. */
#include "expect.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

int main(void)
{
	struct timespec until = { .tv_sec = 1 }, bad = { .tv_nsec = -1 };
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	pthread_mutexattr_t attributes;
	pthread_mutex_t mutex;
	void *m = &mutex, *c = &cond;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&mutex, &attributes);
	pthread_mutex_lock(&mutex);
	expect("pthread_mutex_lock<lock>(1) = %p", m);
	if (pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &until) != ETIMEDOUT)
		return 1;
	expect("pthread_cond_clockwait<lock>(%p)\npthread_cond_clockwait<lock>(1) = %p", m, m);
	expect("pthread_cond_clockwait<event>(%p)\n\t$clock = 1\n\t$until = 1.000000000", c);
	if (pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &bad) != EINVAL)
		return 1;
	expect("pthread_cond_clockwait<lock>(%p)\npthread_cond_clockwait<lock>(1) = %p", m, m);
	pthread_mutex_unlock(&mutex);
	expect("pthread_mutex_unlock<lock>(%p)", m);
	/* Not held before, and so not held after. */
	if (pthread_cond_wait(&cond, &mutex) != EPERM)
		return 1;
	expect("pthread_cond_wait<event>(%p)", c);
	expect_print();
	puts("- pthread_cond_wait<lock>(1)*");
	return 0;
}
