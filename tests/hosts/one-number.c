/* SPDX-License-Identifier: MIT */
/*
 * Twenty threads, one after the other, to whom the kernel gives one number (root may ask for that).
 * Prints how many of them had it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 20

static pid_t number;

static void *work(void *unused)
{
	free(malloc(100));
	number = gettid();
	return unused;
}

/* The next number that is given is this one, if it is free. */
static void ask_for(pid_t wanted)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	dprintf(fd, "%d", (int)wanted - 1);
	close(fd);
}

int main(void)
{
	pid_t first = 0;
	int same = 0;

	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (first)
			ask_for(first);
		if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
			return 1;
		first = first ? first : number;
		same += number == first;
	}
	printf("%d\n", same);
	return 0;
}
