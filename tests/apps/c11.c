/* SPDX-License-Identifier: MIT */
/* The threads, mutexes and conditions of C11: each call once, though POSIX's do the work. */
#include "expect.h"

#include <threads.h>

static const struct timespec past = { .tv_sec = 1 };
static mtx_t mutex;
static cnd_t cond;
static int said;

static int say(void *value)
{
	mtx_lock(&mutex);
	said = 1;
	cnd_signal(&cond);
	mtx_unlock(&mutex);
	thrd_exit(*(int *)value);
}

static int return_it(void *value)
{
	return *(int *)value;
}

int main(void)
{
	void *m = &mutex, *c = &cond;
	int value = 42, result = 0;
	thrd_t thread;

	mtx_init(&mutex, mtx_timed);
	cnd_init(&cond);
	expect("mtx_init<mutex>(1) = %p\n\t$type = 0x%x\ncnd_init<condition>(1) = %p", m, mtx_timed,
	       c);
	mtx_lock(&mutex);
	if (mtx_trylock(&mutex) != thrd_busy || mtx_timedlock(&mutex, &past) != thrd_timedout)
		return 1;
	expect("mtx_lock<lock>(1) = %p\nmtx_trylock<event>(%p)", m, m);
	expect("mtx_timedlock<event>(%p)\n\t$until = 1.000000000", m);
	if (thrd_create(&thread, say, &value) != thrd_success)
		return 1;
	expect("thrd_create<thread>(1) = 0x%lx", (unsigned long)thread);
	while (!said)
		cnd_wait(&cond, &mutex);
	expect("cnd_wait<lock>(%p)\nmtx_lock<lock>(1) = %p\ncnd_signal<event>(%p)", m, m, c);
	expect("mtx_unlock<lock>(%p)\ncnd_wait<lock>(1) = %p\ncnd_wait<event>(%p)", m, m, c);
	if (cnd_timedwait(&cond, &mutex, &past) != thrd_timedout)
		return 1;
	expect("cnd_timedwait<lock>(%p)\ncnd_timedwait<lock>(1) = %p", m, m);
	expect("cnd_timedwait<event>(%p)\n\t$until = 1.000000000", c);
	mtx_unlock(&mutex);
	expect("mtx_unlock<lock>(%p)", m);
	if (thrd_join(thread, &result) != thrd_success || result != value)
		return 1;
	expect("thrd_join<thread>(0x%lx)\nthrd_join<event>(0x%lx)", (unsigned long)thread,
	       (unsigned long)thread);
	mtx_trylock(&mutex);
	cnd_broadcast(&cond);
	mtx_unlock(&mutex);
	expect("mtx_trylock<lock>(1) = %p\ncnd_broadcast<event>(%p)\nmtx_unlock<lock>(%p)", m, c,
	       m);
	value = -7;
	thrd_create(&thread, return_it, &value);
	if (thrd_join(thread, &result) != thrd_success || result != value)
		return 1;
	thrd_create(&thread, return_it, &value);
	thrd_detach(thread);
	expect("thrd_create<thread>(1) = 0x%lx\nthrd_detach<thread>(0x%lx)", (unsigned long)thread,
	       (unsigned long)thread);
	cnd_destroy(&cond);
	mtx_destroy(&mutex);
	expect("cnd_destroy<condition>(%p)\nmtx_destroy<mutex>(%p)", c, m);
	expect_print();
	puts("= 1 thrd_exit<event>(*)");
	puts("- pthread_create*\n- pthread_join*\n- pthread_exit*\n- pthread_mutex*\n- "
	     "pthread_cond*");
	return 0;
}
