/* SPDX-License-Identifier: MIT */
/*
 * A lock that is held during slow work: four threads look up values in a table; the main thread
 * sometimes clears the table, and does slow work before it releases the lock.
 *
 *   cc -g -pthread -o contention examples/contention.c
 *   holdtrace record -o contention.htr ./contention
 *   holdtrace report waits contention.htr
 *
 * The threads that wait are not the slow ones: see in the report which function held the lock while
 * look_up() waited ("held by"), and the longest time for which it was held.
 */
#include <pthread.h>
#include <unistd.h>

#define THREADS 4
#define LOOKUPS 50 /* lookups of each thread */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int table[100];

static int look_up(int key)
{
	int value;

	pthread_mutex_lock(&lock);
	value = table[key % 100]++;
	pthread_mutex_unlock(&lock);
	return value;
}

static void sweep(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 100; i++)
		table[i] = 0;
	usleep(60 * 1000); /* simulates a slow disk; this work does not need the lock */
	pthread_mutex_unlock(&lock);
}

static void *serve(void *first)
{
	for (int i = 0; i < LOOKUPS; i++) {
		look_up((int)(long)first + i);
		usleep(1000);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, (void *)(i * LOOKUPS));
	for (int i = 0; i < 5; i++) {
		usleep(5 * 1000);
		sweep();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
