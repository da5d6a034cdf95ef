/* SPDX-License-Identifier: MIT */
/* The first thread leaves by pthread_exit; others go on, and the last one ends the process. */
#include <pthread.h>

#include "made.h"

static void *goes_on(void *argument)
{
	usleep(100000);
	make_silently(1000, 1037);
	return argument;
}

int main(void)
{
	pthread_t thread;

	make(100, 1039);
	say_made(3000, 1037);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, goes_on, NULL);
	pthread_exit(NULL);
}
