/* SPDX-License-Identifier: MIT */
/*
 * Threads are cancelled where they sleep in hooks, and between any two instructions; their cleanup
 * handlers allocate. Another leaves by pthread_exit from deep inside.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>

#include "made.h"

#define ROUNDS 50

static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int listener;

static void clean(void *argument)
{
	make_silently(1, 1033);
	if (argument)
		pthread_mutex_unlock(argument);
}

static void *waits(void *argument)
{
	pthread_cleanup_push(clean, NULL);
	sem_wait(argument);
	pthread_cleanup_pop(1);
	return NULL;
}

static void *waits_for_condition(void *argument)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(clean, &mutex);
	for (;;)
		pthread_cond_wait(argument, &mutex);
	pthread_cleanup_pop(1);
	return NULL;
}

static void *accepts(void *argument)
{
	pthread_cleanup_push(clean, NULL);
	accept(*(int *)argument, NULL, NULL);
	pthread_cleanup_pop(1);
	return NULL;
}

/* Cancelled anywhere: only what is safe then. */
static void *runs(void *argument)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		sem_post(argument);
	return NULL;
}

/* Not for the compiler to see that it never comes back. */
static void (*volatile exits)(void *) = pthread_exit;

static void leave(int depth)
{
	pthread_cleanup_push(clean, NULL);
	if (depth)
		leave(depth - 1);
	else
		exits(NULL);
	pthread_cleanup_pop(0);
}

static void *leaves(void *argument)
{
	leave(10);
	return argument;
}

int main(void)
{
	void *(*const starts[])(void *) = { waits, waits_for_condition, accepts, runs };
	sem_t other;
	void *const arguments[] = { &semaphore, &cond, &listener, &other };
	unsigned cancelled = 0;

	sem_init(&semaphore, 0, 0);
	sem_init(&other, 0, 0);
	listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	bind(listener, (struct sockaddr *)&(struct sockaddr){ .sa_family = AF_UNIX }, 2);
	listen(listener, 1);
	for (int i = 0; i < 4 * ROUNDS; i++) {
		pthread_t thread;
		void *result;

		pthread_create(&thread, NULL, starts[i % 4], arguments[i % 4]);
		usleep(i % 8 * 100);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, leaves, NULL);
		pthread_join(thread, NULL);
	}
	printf("%u cancelled, mutex %d\n", cancelled, pthread_mutex_trylock(&mutex));
	fflush(stdout);
	make(100, 1035);
	return 0;
}
