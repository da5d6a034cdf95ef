/* SPDX-License-Identifier: MIT */
/*
 * Children that share their parent's memory and its thread-local data, and run beside it, as
 * threads were made before there were threads. The parent waits for each.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN   20
#define BLOCKS	   5000
#define STACK_SIZE (256u << 10)

static volatile int count;

static int allocate(void *status)
{
	for (int i = 0; i < BLOCKS; i++) {
		void *volatile block = malloc(100 + (size_t)i % 50);

		free(block);
		count++;
		if (i % 100 == 0)
			close(open("/dev/null", O_RDONLY));
	}
	return *(int *)status;
}

int main(void)
{
	int wanted = 7, got, good = 0;

	for (int i = 0; i < CHILDREN; i++) {
		char *stack = malloc(STACK_SIZE);
		pid_t child = clone(allocate, stack + STACK_SIZE, CLONE_VM | SIGCHLD, &wanted);

		got = 0;
		waitpid(child, &got, 0);
		good += WIFEXITED(got) && WEXITSTATUS(got) == wanted;
		free(stack);
	}
	printf("%d children, %d blocks\n", good, count);
	return 0;
}
