/* SPDX-License-Identifier: MIT */
/* Spin locks are locks; a barrier lets all go, and tells one of them that it is the one. */
#include "expect.h"

#include <errno.h>
#include <pthread.h>

static pthread_barrier_t barrier;

static void *wait_too(void *result)
{
	*(int *)result = pthread_barrier_wait(&barrier);
	return NULL;
}

int main(void)
{
	pthread_spinlock_t spin;
	pthread_t thread;
	void *s = (void *)&spin, *b = &barrier;
	int first, second;

	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	expect("pthread_spin_init<spinlock>(1) = %p\n\t$shared = 0", s);
	pthread_spin_lock(&spin);
	if (pthread_spin_trylock(&spin) != EBUSY)
		return 1;
	pthread_spin_unlock(&spin);
	expect("pthread_spin_lock<lock>(1) = %p\npthread_spin_trylock<event>(%p)", s, s);
	expect("pthread_spin_unlock<lock>(%p)", s);
	pthread_spin_trylock(&spin);
	pthread_spin_unlock(&spin);
	expect("pthread_spin_trylock<lock>(1) = %p\npthread_spin_unlock<lock>(%p)", s, s);
	pthread_spin_destroy(&spin);
	expect("pthread_spin_destroy<spinlock>(%p)", s);

	pthread_barrier_init(&barrier, NULL, 2);
	expect("pthread_barrier_init<barrier>(1) = %p\n\t$count = 2", b);
	pthread_create(&thread, NULL, wait_too, &second);
	first = pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	if (first + second != PTHREAD_BARRIER_SERIAL_THREAD)
		return 1;
	expect("pthread_barrier_wait<event>(%p)\npthread_barrier_wait<event>(%p)", b, b);
	pthread_barrier_destroy(&barrier);
	expect("pthread_barrier_destroy<barrier>(%p)", b);
	expect_print();
	return 0;
}
