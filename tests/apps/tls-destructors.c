/* SPDX-License-Identifier: MIT */
/* Destructors of thread-local data call hooked functions when the thread has returned or exited. */
#include "expect.h"

#include <pthread.h>

static pthread_key_t key;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void destroy(void *block)
{
	pthread_mutex_lock(&mutex);
	free(block);
	free(malloc(7654));
	pthread_mutex_unlock(&mutex);
}

static void *return_it(void *unused)
{
	pthread_setspecific(key, malloc(7000));
	return unused;
}

static void *exit_it(void *unused)
{
	pthread_setspecific(key, malloc(7001));
	pthread_exit(unused);
}

int main(void)
{
	pthread_t thread;
	void *m = &mutex;

	pthread_key_create(&key, destroy);
	for (int i = 0; i < 2; i++) {
		pthread_create(&thread, NULL, i ? exit_it : return_it, NULL);
		pthread_join(thread, NULL);
		expect("malloc<memory>(%d) = *\npthread_mutex_lock<lock>(1) = %p", 7000 + i, m);
		expect("malloc<memory>(7654) = *\nfree<memory>(*)\npthread_mutex_unlock<lock>(%p)",
		       m);
	}
	expect_print();
	puts("= 2 malloc<memory>(7654) = *\n- ~dropped*\n- ~open*");
	return 0;
}
