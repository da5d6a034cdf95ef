/* SPDX-License-Identifier: MIT */
/* 2,000 threads one after another: slots are used again, and nothing is lost. */
#include "expect.h"

#include <pthread.h>

static void *allocate(void *unused)
{
	free(malloc(4321));
	return unused;
}

static void *exit_early(void *unused)
{
	free(malloc(4321));
	pthread_exit(unused);
}

int main(void)
{
	for (int i = 0; i < 2000; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, i % 2 ? allocate : exit_early, NULL))
			return 1;
		if (i % 4 < 2)
			pthread_join(thread, NULL);
		else
			pthread_detach(thread);
	}
	/* Those who are detached may still be on their way. */
	puts("= 2000 pthread_create<thread>(1) = *\n= 1000 pthread_join<thread>(*)");
	puts("= 1000 pthread_detach<thread>(*)\n- ~dropped*\n- \t$dropped = [1-9]*");
	pthread_exit(NULL);
}
