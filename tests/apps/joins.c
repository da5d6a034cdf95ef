/* SPDX-License-Identifier: MIT */
/* The ways to wait for a thread: each gives it back when it had it, and only then. */
#include "expect.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static sem_t go;

static void *wait_for_it(void *unused)
{
	sem_wait(&go);
	return unused;
}

static unsigned long start(pthread_t *thread)
{
	pthread_create(thread, NULL, wait_for_it, NULL);
	expect("pthread_create<thread>(1) = 0x%lx", (unsigned long)*thread);
	return (unsigned long)*thread;
}

int main(void)
{
	struct timespec past = { .tv_sec = 1 }, later = { .tv_sec = time(NULL) + 50 };
	pthread_t thread;
	unsigned long t;

	sem_init(&go, 0, 0);
	t = start(&thread);
	pthread_setname_np(thread, "waiter");
	expect("pthread_setname_np<event>(0x%lx)\n\t$name = waiter", t);
	if (pthread_tryjoin_np(thread, NULL) != EBUSY ||
	    pthread_timedjoin_np(thread, NULL, &past) != ETIMEDOUT ||
	    pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &past) != ETIMEDOUT ||
	    pthread_join(pthread_self(), NULL) != EDEADLK)
		return 1;
	expect("pthread_tryjoin_np<event>(0x%lx)", t);
	expect("pthread_timedjoin_np<event>(0x%lx)\n\t$until = 1.000000000", t);
	expect("pthread_clockjoin_np<event>(0x%lx)\n\t$clock = 1\n\t$until = 1.000000000", t);
	expect("pthread_join<thread>(1) = 0x%lx", (unsigned long)pthread_self());
	sem_post(&go);
	while (pthread_tryjoin_np(thread, NULL) == EBUSY)
		;
	expect("pthread_tryjoin_np<thread>(0x%lx)", t);
	t = start(&thread);
	sem_post(&go);
	if (pthread_timedjoin_np(thread, NULL, &later))
		return 1;
	expect("pthread_timedjoin_np<thread>(0x%lx)", t);
	t = start(&thread);
	sem_post(&go);
	if (pthread_clockjoin_np(thread, NULL, CLOCK_REALTIME, &later))
		return 1;
	expect("pthread_clockjoin_np<thread>(0x%lx)", t);
	/* Never joined: it is still there at the end. */
	start(&thread);
	expect_print();
	return 0;
}
