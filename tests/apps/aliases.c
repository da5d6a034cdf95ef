/* SPDX-License-Identifier: MIT */
/* Programs older than glibc 2.34 may call mutexes and reader-writer locks by other names. */
#include "expect.h"

#include <dlfcn.h>
#include <pthread.h>

/* A program of today cannot be linked with them, and finds them only where we export them. */
static int call_it(const char *name, void *object)
{
	int (*function)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, name);

	return function ? function(object) : 0;
}

int main(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
	void *m = &mutex, *r = &rwlock;

	call_it("__pthread_mutex_lock", m);
	if (pthread_mutex_trylock(&mutex) == 0)
		return 0; /* untraced */
	call_it("__pthread_mutex_unlock", m);
	expect("__pthread_mutex_lock<lock>(1) = %p\n__pthread_mutex_unlock<lock>(%p)", m, m);
	if (call_it("__pthread_mutex_trylock", m) || !call_it("__pthread_mutex_trylock", m))
		return 1;
	expect("__pthread_mutex_trylock<lock>(1) = %p\n__pthread_mutex_trylock<event>(%p)", m, m);
	call_it("__pthread_rwlock_wrlock", r);
	call_it("__pthread_rwlock_unlock", r);
	expect("__pthread_rwlock_wrlock<lock>(1) = %p\n__pthread_rwlock_unlock<lock>(%p)", r, r);
	expect_print();
	return 0;
}
