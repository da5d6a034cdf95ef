/* SPDX-License-Identifier: MIT */
/*
 * pthread_exit from functions inside each other: their cleanup handlers run, innermost first, and
 * what a signal handler leaves behind by it did not return. The first thread may end so, too.
 */
#include "expect.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

static sem_t ready, never;
static pthread_t first;
static int order[3], runs;

static void note(void *number)
{
	order[runs++] = *(int *)number;
	free(malloc(700 + (size_t)runs));
}

__attribute__((noinline)) static void leave(int *number)
{
	pthread_cleanup_push(note, number);
	if (*number)
		leave(number - 1);
	else if (!runs)
		pthread_exit(&order);
	pthread_cleanup_pop(0);
}

static void *from_nested(void *numbers)
{
	leave((int *)numbers + 2);
	return NULL;
}

static void exit_thread(int number)
{
	(void)number;
	pthread_exit(NULL);
}

static void *from_handler(void *unused)
{
	sem_post(&ready);
	sem_wait(&never);
	return unused;
}

static void *after_first(void *unused)
{
	pthread_join(first, NULL);
	expect("pthread_exit<event>(0x%lx)", (unsigned long)first);
	expect_print();
	puts("= 3 pthread_exit<event>(*)\n- ~open*");
	exit(0);
	return unused;
}

int main(void)
{
	int numbers[] = { 0, 1, 2 };
	pthread_t thread;
	void *value;

	sem_init(&ready, 0, 0);
	sem_init(&never, 0, 0);
	pthread_create(&thread, NULL, from_nested, numbers);
	pthread_join(thread, &value);
	if (value != order || order[0] != 0 || order[1] != 1 || order[2] != 2)
		return 1;
	expect("pthread_exit<event>(0x%lx)\nmalloc<memory>(701)*", (unsigned long)thread);
	expect("malloc<memory>(702)*\nmalloc<memory>(703)*");

	signal(SIGUSR1, exit_thread);
	pthread_create(&thread, NULL, from_handler, NULL);
	sem_wait(&ready);
	usleep(2000);
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	expect("pthread_exit<event>(0x%lx)\nsem_wait<event>(%p)", (unsigned long)thread,
	       (void *)&never);

	first = pthread_self();
	pthread_create(&thread, NULL, after_first, NULL);
	pthread_exit(NULL);
}
