/* SPDX-License-Identifier: MIT */
/*
 * A handler jumps out of the wait for a condition: no standard allows it, but programs do it.
 * Whether they hold the mutex then is libc's affair (glibc's longjmp takes it back); the trace says
 * what is so. The first call after it lies deeper in the stack than the wait.
 */
#include "expect.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sigjmp_buf place;

static void jump(int number)
{
	siglongjmp(place, number);
}

__attribute__((noinline)) static int take(pthread_mutex_t *it)
{
	volatile char deeper[200];

	deeper[0] = (char)pthread_mutex_trylock(it);
	return deeper[0];
}

int main(void)
{
	void *m = &mutex;
	int held;

	signal(SIGALRM, jump);
	pthread_mutex_lock(&mutex);
	if (!sigsetjmp(place, 1)) {
		ualarm(2000, 0);
		pthread_cond_wait(&cond, &mutex);
	}
	held = take(&mutex);
	pthread_mutex_unlock(&mutex);
	expect("pthread_mutex_lock<lock>(1) = %p\npthread_cond_wait<lock>(%p)", m, m);
	if (held)
		expect("pthread_cond_wait<lock>(1) = %p\npthread_cond_wait<event>(%p)\n"
		       "pthread_mutex_trylock<event>(%p)",
		       m, (void *)&cond, m);
	else
		expect("pthread_cond_wait<event>(%p)\npthread_mutex_trylock<lock>(1) = %p",
		       (void *)&cond, m);
	expect("pthread_mutex_unlock<lock>(%p)", m);
	expect_print();
	puts(held ? "= 1 pthread_cond_wait<lock>(1)*" : "- pthread_cond_wait<lock>(1)*");
	puts("- ~open*");
	return 0;
}
