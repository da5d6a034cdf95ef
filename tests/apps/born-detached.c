/* SPDX-License-Identifier: MIT */
/* A thread that was born detached is given back with its birth: nobody has to join it. */
#include "expect.h"

#include <pthread.h>
#include <semaphore.h>

static void *post(void *argument)
{
	sem_post(argument);
	return NULL;
}

int main(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sem_t done;

	sem_init(&done, 0, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_create(&thread, &attributes, post, &done);
	expect("pthread_create<thread>(1) = 0x%lx\npthread_create<thread>(0x%lx)",
	       (unsigned long)thread, (unsigned long)thread);
	sem_wait(&done);
	expect_print();
	return 0;
}
