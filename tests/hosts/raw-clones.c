/* SPDX-License-Identifier: MIT */
/*
 * Children by the bare system call, which no atfork handler sees, and one that shares its parent's
 * memory as vfork's does. All allocate.
 */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "made.h"

static int shares(void *argument)
{
	make_silently(10, 1073);
	close(dup(0));
	return *(int *)argument;
}

int main(void)
{
	int statuses[20], status = 9, count = 0;
	char *stack = malloc(64 << 10);
	pid_t child;

	make(100, 1075);
	for (int i = 0; i < 20; i++) {
		child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!child) {
			make_silently(10, 1071);
			_exit(i);
		}
		make_silently(1, 1075);
		waitpid(child, &statuses[i], 0);
		count += WEXITSTATUS(statuses[i]) == i;
	}
	child = clone(shares, stack + (64 << 10), CLONE_VM | CLONE_VFORK | SIGCHLD, &status);
	waitpid(child, &status, 0);
	free(stack);
	printf("%d children, the one that shares %d\n", count, WEXITSTATUS(status));
	fflush(stdout);
	make_silently(10, 1075);
	say_made(30, 1075);
	say_made(200, 1071);
	say_made(10, 1073);
	return 0;
}
