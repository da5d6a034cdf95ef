/* SPDX-License-Identifier: MIT */
/*
 * Cancellation inside waits: the call did not return; the mutex of a condition is held again when
 * the cleanup handler runs; a thread whose join was cancelled is still there; locks that no handler
 * knows of stay free for others; and who is cancelled without any handler is told, too.
 */
#include "expect.h"

#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t never, ready;

/* Lies deeper in the stack than the wait did. */
__attribute__((noinline)) static void unlock(void *locked)
{
	pthread_mutex_unlock(locked);
}

static void *in_condition(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	sem_post(&ready);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
	return unused;
}

static void *in_semaphore(void *unused)
{
	sem_post(&ready);
	sem_wait(&never);
	return unused;
}

static void *in_join(void *thread)
{
	sem_post(&ready);
	pthread_join(*(pthread_t *)thread, NULL);
	return NULL;
}

static void cancel(pthread_t thread)
{
	void *value;

	sem_wait(&ready);
	usleep(2000);
	pthread_cancel(thread);
	pthread_join(thread, &value);
	if (value != PTHREAD_CANCELED)
		exit(1);
}

int main(void)
{
	void *m = &mutex, *c = &cond, *n = &never;
	pthread_t thread, joined;

	sem_init(&never, 0, 0);
	sem_init(&ready, 0, 0);
	pthread_create(&thread, NULL, in_condition, NULL);
	cancel(thread);
	expect("pthread_mutex_lock<lock>(1) = %p\npthread_cond_wait<lock>(%p)", m, m);
	expect("pthread_cond_wait<lock>(1) = %p\npthread_cond_wait<event>(%p)", m, c);
	expect("pthread_mutex_unlock<lock>(%p)", m);

	pthread_create(&thread, NULL, in_semaphore, NULL);
	cancel(thread);
	expect("sem_wait<event>(%p)\npthread_join<event>(0x%lx)", n, (unsigned long)thread);

	pthread_create(&joined, NULL, in_semaphore, NULL);
	sem_wait(&ready);
	pthread_create(&thread, NULL, in_join, &joined);
	cancel(thread);
	expect("pthread_join<thread>(0x%lx)", (unsigned long)joined);
	expect("pthread_join<thread>(1) = 0x%lx\npthread_join<event>(0x%lx)", (unsigned long)joined,
	       (unsigned long)joined);
	sem_post(&never);
	pthread_join(joined, NULL);
	expect("sem_post<event>(%p)\npthread_join<thread>(0x%lx)", n, (unsigned long)joined);
	expect_print();
	/* It may come before the wait that it ends. */
	puts("= 3 pthread_cancel<event>(*)\n- ~open*");
	return 0;
}
