/* SPDX-License-Identifier: MIT */
/*
 * Changes its environment from the first moment on, while a thread allocates; then empties it and
 * forks. Nothing that the library needs may lie there.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "made.h"

static void *allocate(void *argument)
{
	(void)argument;
	make_silently(1000, 1011);
	return NULL;
}

__attribute__((constructor)) static void constructor(void)
{
	static char mine[] = "MINE=1";

	putenv(mine);
	setenv("HOLDTRACE_OUT", "/nowhere/at/all", 1);
}

int main(void)
{
	pthread_t thread;
	int status;

	pthread_create(&thread, NULL, allocate, NULL);
	for (int i = 0; i < 1000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "NAME%d", i % 50);
		setenv(name, "a value that is longer than what was there before", 1);
	}
	pthread_join(thread, NULL);
	clearenv();
	if (!fork()) {
		make_silently(50, 1013);
		_exit(0);
	}
	wait(&status);
	printf("child %d\n", status);
	fflush(stdout);
	say_made(1000, 1011);
	say_made(50, 1013);
	return 0;
}
