/* SPDX-License-Identifier: MIT */
/*
 * For tests/e2e/sampling: locks of all kinds that are mostly had at once, twenty that must be
 * waited for, by who is told, and what calls return: the same traced and untraced.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAITS 20

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;

static void *waits(void *unused)
{
	for (int i = 0; i < WAITS; i++) {
		pthread_barrier_wait(&barrier);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&barrier);
	}
	return unused;
}

static void contend(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, waits, NULL);
	for (int i = 0; i < WAITS; i++) {
		pthread_mutex_lock(&mutex);
		pthread_barrier_wait(&barrier);
		usleep(20000);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&barrier);
	}
	pthread_join(thread, NULL);
}

static void *dies(void *robust)
{
	pthread_mutex_lock(robust);
	return NULL;
}

static void results(int kind)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t one;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, kind);
	pthread_mutex_init(&one, &attributes);
	printf("%d ", pthread_mutex_lock(&one));
	if (kind != PTHREAD_MUTEX_NORMAL)
		printf("%d ", pthread_mutex_lock(&one));
	printf("%d ", pthread_mutex_trylock(&one));
	for (int i = 0; i < 4 && kind != PTHREAD_MUTEX_NORMAL; i++)
		printf("%d ", pthread_mutex_unlock(&one));
	puts("");
}

static void robust(void)
{
	pthread_mutexattr_t attributes;
	pthread_mutex_t one;
	pthread_t thread;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&one, &attributes);
	pthread_create(&thread, NULL, dies, &one);
	pthread_join(thread, NULL);
	printf("%d ", pthread_mutex_lock(&one));
	printf("%d ", pthread_mutex_unlock(&one));
	printf("%d\n", pthread_mutex_lock(&one));
}

static void others(void)
{
	struct timespec past = { .tv_sec = 1 }, bad = { .tv_nsec = -1 };

	printf("%d ", pthread_rwlock_wrlock(&rwlock));
	printf("%d %d ", pthread_rwlock_wrlock(&rwlock), pthread_rwlock_rdlock(&rwlock));
	printf("%d ", pthread_rwlock_unlock(&rwlock));
	printf("%d ", pthread_rwlock_timedrdlock(&rwlock, &bad));
	printf("%d ", pthread_rwlock_rdlock(&rwlock));
	printf("%d ", pthread_rwlock_tryrdlock(&rwlock));
	printf("%d %d\n", pthread_rwlock_unlock(&rwlock), pthread_rwlock_unlock(&rwlock));
	printf("%d ", pthread_mutex_timedlock(&mutex, &past));
	printf("%d ", pthread_cond_timedwait(&cond, &mutex, &past));
	printf("%d %d\n", pthread_mutex_unlock(&mutex), errno);
}

/* Until a time that has gone by, or makes no sense, or by no clock of locks; and had at once. */
static void timed(void)
{
	const struct timespec past = { .tv_sec = 1 }, bad = { .tv_sec = 1, .tv_nsec = 1000000000 };
	const struct timespec *volatile never = NULL;
	int sum = 0;

	for (int i = 0; i < 1000; i++) {
		sum |= pthread_mutex_timedlock(&mutex, &past) | pthread_mutex_unlock(&mutex);
		sum |= pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past) |
		       pthread_mutex_unlock(&mutex);
		sum |= pthread_rwlock_timedwrlock(&rwlock, &past) | pthread_rwlock_unlock(&rwlock);
		sum |= pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &past) |
		       pthread_rwlock_unlock(&rwlock);
	}
	printf("%d ", sum);
	printf("%d ", pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &past));
	printf("%d ", pthread_mutex_timedlock(&mutex, &bad));
	printf("%d ", pthread_mutex_timedlock(&mutex, &past));
	printf("%d ", pthread_mutex_timedlock(&mutex, &bad));
	printf("%d ", pthread_mutex_unlock(&mutex));
	printf("%d ", pthread_rwlock_timedwrlock(&rwlock, &bad));
	printf("%d ", pthread_rwlock_clockwrlock(&rwlock, CLOCK_PROCESS_CPUTIME_ID, &past));
	printf("%d ", pthread_rwlock_timedwrlock(&rwlock, never));
	printf("%d ", pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &past));
	printf("%d\n", pthread_rwlock_unlock(&rwlock));
}

int main(void)
{
	for (int i = 0; i < 100000; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	results(PTHREAD_MUTEX_NORMAL);
	results(PTHREAD_MUTEX_ERRORCHECK);
	results(PTHREAD_MUTEX_RECURSIVE);
	robust();
	others();
	timed();
	contend();
	return 0;
}
