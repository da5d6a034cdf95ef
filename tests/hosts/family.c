/* SPDX-License-Identifier: MIT */
/*
 * A parent, a child of fork and a program that a child executes, each with its own blocks:
 * 10 of 501 bytes, 20 of 502, 30 of 503. "daemon": the child first becomes a daemon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void allocate(int count, size_t size)
{
	for (int i = 0; i < count; i++)
		if (!malloc(size))
			_exit(1);
}

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	if (argc > 1 && strcmp(argv[1], "executed") == 0) {
		allocate(30, 503);
		return 0;
	}
	allocate(10, 501);
	child = fork();
	if (!child) {
		if (argc > 1 && strcmp(argv[1], "daemon") == 0 && daemon(1, 0))
			_exit(2);
		allocate(20, 502);
		_exit(0);
	}
	waitpid(child, &status, 0);
	child = fork();
	if (!child) {
		execl("/proc/self/exe", argv[0], "executed", (char *)NULL);
		_exit(3);
	}
	waitpid(child, &status, 0);
	printf("%d\n", WEXITSTATUS(status));
	return 0;
}
