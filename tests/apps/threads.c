/* SPDX-License-Identifier: MIT */
/* Threads are given back by join or detach, also when they detach themselves. */
#include "expect.h"

#include <pthread.h>
#include <semaphore.h>

static void *detach_self(void *argument)
{
	pthread_detach(pthread_self());
	sem_post(argument);
	return NULL;
}

static void *return_it(void *argument)
{
	return argument;
}

int main(void)
{
	pthread_t thread;
	void *value;
	sem_t done;

	sem_init(&done, 0, 0);
	pthread_create(&thread, NULL, return_it, &done);
	expect("pthread_create<thread>(1) = 0x%lx", (unsigned long)thread);
	pthread_join(thread, &value);
	expect("pthread_join<thread>(0x%lx)\npthread_join<event>(0x%lx)", (unsigned long)thread,
	       (unsigned long)thread);
	if (value != &done)
		return 1;
	pthread_create(&thread, NULL, detach_self, &done);
	expect("pthread_create<thread>(1) = 0x%lx\npthread_detach<thread>(0x%lx)",
	       (unsigned long)thread, (unsigned long)thread);
	sem_wait(&done);
	expect_print();
	return 0;
}
