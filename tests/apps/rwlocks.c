/* SPDX-License-Identifier: MIT */
/* A reader-writer lock is held by each of its readers or by its writer. */
#include "expect.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static const struct timespec past = { .tv_sec = 1 };
static pthread_rwlock_t rwlock;

/* Another thread than the one that holds it. */
static void *write_it(void *failed)
{
	*(int *)failed = pthread_rwlock_trywrlock(&rwlock) != EBUSY ||
			 pthread_rwlock_timedwrlock(&rwlock, &past) != ETIMEDOUT ||
			 pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &past) != ETIMEDOUT;
	return NULL;
}

static void *read_it(void *failed)
{
	*(int *)failed = pthread_rwlock_tryrdlock(&rwlock) != EBUSY ||
			 pthread_rwlock_timedrdlock(&rwlock, &past) != ETIMEDOUT ||
			 pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &past) != ETIMEDOUT;
	return NULL;
}

static int in_thread(void *(*start)(void *))
{
	pthread_t thread;
	int failed = 1;

	pthread_create(&thread, NULL, start, &failed);
	pthread_join(thread, NULL);
	return failed;
}

int main(void)
{
	void *r = &rwlock;

	pthread_rwlock_init(&rwlock, NULL);
	expect("pthread_rwlock_init<rwlock>(1) = %p", r);
	pthread_rwlock_rdlock(&rwlock);
	expect("pthread_rwlock_rdlock<lock>(1) = %p", r);
	if (pthread_rwlock_tryrdlock(&rwlock) || pthread_rwlock_timedrdlock(&rwlock, &past) ||
	    pthread_rwlock_clockrdlock(&rwlock, CLOCK_REALTIME, &past) || in_thread(write_it))
		return 1;
	expect("pthread_rwlock_tryrdlock<lock>(1) = %p", r);
	expect("pthread_rwlock_timedrdlock<lock>(1) = %p\n\t$until = 1.000000000", r);
	expect("pthread_rwlock_clockrdlock<lock>(1) = %p\n\t$clock = 0\n\t$until = 1.000000000", r);
	expect("pthread_rwlock_trywrlock<event>(%p)", r);
	expect("pthread_rwlock_timedwrlock<event>(%p)\n\t$until = 1.000000000", r);
	expect("pthread_rwlock_clockwrlock<event>(%p)\n\t$clock = 1\n\t$until = 1.000000000", r);
	for (int i = 0; i < 4; i++) {
		pthread_rwlock_unlock(&rwlock);
		expect("pthread_rwlock_unlock<lock>(%p)", r);
	}
	pthread_rwlock_wrlock(&rwlock);
	expect("pthread_rwlock_wrlock<lock>(1) = %p", r);
	if (in_thread(read_it))
		return 1;
	expect("pthread_rwlock_tryrdlock<event>(%p)", r);
	expect("pthread_rwlock_timedrdlock<event>(%p)\npthread_rwlock_clockrdlock<event>(%p)", r,
	       r);
	pthread_rwlock_unlock(&rwlock);
	expect("pthread_rwlock_unlock<lock>(%p)", r);
	pthread_rwlock_trywrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	expect("pthread_rwlock_trywrlock<lock>(1) = %p\npthread_rwlock_unlock<lock>(%p)", r, r);
	pthread_rwlock_timedwrlock(&rwlock, &past);
	pthread_rwlock_unlock(&rwlock);
	expect("pthread_rwlock_timedwrlock<lock>(1) = %p\npthread_rwlock_unlock<lock>(%p)", r, r);
	pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &past);
	pthread_rwlock_unlock(&rwlock);
	expect("pthread_rwlock_clockwrlock<lock>(1) = %p\npthread_rwlock_unlock<lock>(%p)", r, r);
	pthread_rwlock_destroy(&rwlock);
	expect("pthread_rwlock_destroy<rwlock>(%p)", r);
	expect_print();
	return 0;
}
