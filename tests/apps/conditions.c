/* SPDX-License-Identifier: MIT */
/* A condition's wait gives its mutex back while it sleeps, and has it again when it returns. */
#include "expect.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond;
static int said;

static void *say(void *unused)
{
	pthread_mutex_lock(&mutex);
	said = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	return unused;
}

int main(void)
{
	void *m = &mutex, *c = &cond;
	struct timespec until = { .tv_sec = 1 };
	pthread_t thread;

	pthread_cond_init(&cond, NULL);
	expect("pthread_cond_init<condition>(1) = %p", c);
	pthread_mutex_lock(&mutex);
	expect("pthread_mutex_lock<lock>(1) = %p", m);
	pthread_create(&thread, NULL, say, NULL);
	while (!said)
		pthread_cond_wait(&cond, &mutex);
	expect("pthread_cond_wait<lock>(%p)\npthread_mutex_lock<lock>(1) = %p", m, m);
	expect("pthread_cond_signal<event>(%p)\npthread_mutex_unlock<lock>(%p)", c, m);
	expect("pthread_cond_wait<lock>(1) = %p\npthread_cond_wait<event>(%p)", m, c);
	if (pthread_cond_timedwait(&cond, &mutex, &until) != ETIMEDOUT)
		return 1;
	expect("pthread_cond_timedwait<lock>(%p)\npthread_cond_timedwait<lock>(1) = %p", m, m);
	expect("pthread_cond_timedwait<event>(%p)\n\t$until = 1.000000000", c);
	pthread_mutex_unlock(&mutex);
	expect("pthread_mutex_unlock<lock>(%p)", m);
	pthread_join(thread, NULL);
	pthread_cond_broadcast(&cond);
	pthread_cond_destroy(&cond);
	expect("pthread_cond_broadcast<event>(%p)\npthread_cond_destroy<condition>(%p)", c, c);
	expect_print();
	return 0;
}
