/* SPDX-License-Identifier: MIT */
/*
 * Takes locks of all kinds: six that are free, and one that another thread has for 20 ms. What each
 * kind says to whom it may not let in must be as the manual of the system has it, also if a try
 * stands before it. Exit status 1 if not.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <unistd.h>

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void expect(int found, int wanted, const char *what)
{
	if (found == wanted)
		return;
	fprintf(stderr, "%s: %d, not %d\n", what, found, wanted);
	exit(1);
}

static void *hold(void *argument)
{
	(void)argument;
	expect(pthread_mutex_trylock(&taken), 0, "a free mutex");
	pthread_barrier_wait(&both);
	usleep(20000);
	pthread_mutex_unlock(&taken);
	return NULL;
}

static void make(pthread_mutex_t *mutex, int type, int robust)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, type);
	pthread_mutexattr_setrobust(&attributes, robust);
	pthread_mutex_init(mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

static void *die_with(void *mutex)
{
	pthread_mutex_trylock(mutex);
	return NULL;
}

/* Four locks at once, two that are refused. */
static void take_all(void)
{
	pthread_mutex_t checking, again, robust, dead;
	pthread_t thread;

	make(&checking, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
	make(&again, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
	make(&robust, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	make(&dead, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	expect(pthread_mutex_lock(&checking), 0, "a free mutex that checks");
	expect(pthread_mutex_lock(&checking), EDEADLK, "one's own mutex that checks");
	expect(pthread_mutex_lock(&again), 0, "a free recursive mutex");
	expect(pthread_mutex_lock(&again), 0, "one's own recursive mutex");
	pthread_create(&thread, NULL, die_with, &robust);
	pthread_join(thread, NULL);
	expect(pthread_mutex_lock(&robust), EOWNERDEAD, "a mutex whose owner died");
	expect(pthread_mutex_consistent(&robust), 0, "it is made consistent");
	pthread_create(&thread, NULL, die_with, &dead);
	pthread_join(thread, NULL);
	expect(pthread_mutex_trylock(&dead), EOWNERDEAD, "a try for one whose owner died");
	pthread_mutex_unlock(&dead);
	expect(pthread_mutex_lock(&dead), ENOTRECOVERABLE, "one that was not made consistent");
}

int main(void)
{
	pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
	pthread_spinlock_t spin;
	pthread_t thread;
	mtx_t mutex;

	pthread_barrier_init(&both, NULL, 2);
	pthread_spin_init(&spin, 0);
	mtx_init(&mutex, mtx_plain);
	errno = ERANGE;
	take_all();
	expect(pthread_rwlock_rdlock(&rwlock), 0, "a free lock, to read");
	expect(pthread_rwlock_rdlock(&rwlock), 0, "one with a reader, to read");
	pthread_rwlock_unlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	expect(pthread_rwlock_wrlock(&rwlock), 0, "a free lock, to write");
	expect(pthread_rwlock_rdlock(&rwlock), EDEADLK, "one's own, to read");
	expect(pthread_rwlock_wrlock(&rwlock), EDEADLK, "one's own, to write");
	expect(pthread_spin_lock(&spin), 0, "a free spin lock");
	expect(mtx_lock(&mutex), thrd_success, "a free mutex of C11");
	pthread_create(&thread, NULL, hold, NULL);
	pthread_barrier_wait(&both);
	expect(pthread_mutex_lock(&taken), 0, "a mutex that another has");
	pthread_mutex_unlock(&taken);
	pthread_join(thread, NULL);
	expect(errno, ERANGE, "errno");
	return 0;
}
