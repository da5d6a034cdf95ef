/* SPDX-License-Identifier: MIT */
/* Threads with the smallest stack there may be, also one of their own making. */
#include "expect.h"

#include <limits.h>
#include <pthread.h>
#include <semaphore.h>

static char own[16384] __attribute__((aligned(16384)));
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused)
{
	sem_t sem;

	sem_init(&sem, 0, 1);
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&mutex);
		free(malloc(6543));
		pthread_mutex_unlock(&mutex);
		sem_wait(&sem);
		sem_post(&sem);
	}
	sem_destroy(&sem);
	return unused;
}

int main(void)
{
	pthread_attr_t attributes;
	pthread_t threads[5];

	pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN))
		return 1;
	for (int i = 0; i < 5; i++) {
		if (i == 4)
			pthread_attr_setstack(&attributes, own, sizeof(own));
		if (pthread_create(&threads[i], &attributes, work, NULL))
			return 1;
	}
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	puts("= 250 malloc<memory>(6543) = *\n= 250 pthread_mutex_lock<lock>(1) = *");
	puts("= 250 pthread_mutex_unlock<lock>(*)\n= 250 sem_wait<event>(*)\n- ~dropped*");
	return 0;
}
