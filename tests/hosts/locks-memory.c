/* SPDX-License-Identifier: MIT */
/* Locks all memory that it has and will have, keeps some from its children, and forks. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "made.h"

static void *allocate(void *argument)
{
	make_silently(100, 1089);
	return argument;
}

int main(void)
{
	char *mine =
		mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	int status;

	madvise(mine, 1 << 20, MADV_DONTFORK);
	printf("locked %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
	fflush(stdout);
	if (pthread_create(&thread, NULL, allocate, NULL) || pthread_join(thread, NULL))
		return 1;
	if (!fork()) {
		make_silently(100, 1091);
		_exit(0);
	}
	wait(&status);
	say_made(100, 1089);
	say_made(100, 1091);
	return status;
}
