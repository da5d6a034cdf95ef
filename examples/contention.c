/* SPDX-License-Identifier: MIT */
/*
 * A lock that is held while something slow is done: four threads look things up in a table, a
 * fifth one sweeps it now and then and does its slow work under the same lock.
 *
 *   cc -g -pthread -o contention examples/contention.c
 *   holdtrace record -o contention.htr ./contention
 *   holdtrace report waits contention.htr
 *
 * Who waits is not who is slow: look for what was "held by" whom while look_up() waited, and at
 * which hold is the longest.
 */
#include <pthread.h>
#include <unistd.h>

#define THREADS 4
#define LOOKUPS 50 /* of each */

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
	usleep(60 * 1000); /* a slow disk: nothing that needs the lock */
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
