/* SPDX-License-Identifier: MIT */
/* Forks 100 times while three threads allocate: no lock may be held in a child by nobody. */
#include <pthread.h>
#include <sys/wait.h>

#include "made.h"

static volatile int done;

static void *allocate(void *argument)
{
	unsigned long *count = argument;

	for (; !done; ++*count) {
		make_silently(1, 1067);
		if (*count > 20000)
			usleep(1000);
	}
	return NULL;
}

int main(void)
{
	unsigned long counts[3] = { 0, 0, 0 };
	pthread_t threads[3];
	int good = 0;

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, allocate, &counts[i]);
	for (int i = 0; i < 100; i++) {
		int status = -1;
		pid_t child = fork();

		if (!child) {
			make_silently(10, 1069);
			_exit(6);
		}
		waitpid(child, &status, 0);
		good += WEXITSTATUS(status) == 6;
	}
	done = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d children\n", good);
	fflush(stdout);
	say_made(counts[0] + counts[1] + counts[2], 1067);
	say_made(1000, 1069);
	return 0;
}
