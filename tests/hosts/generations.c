/* SPDX-License-Identifier: MIT */
/*
 * generations: keeps blocks of 1,000 bytes, gives some back, and marks where it is; prints what it
 * holds there, and what of it came since the mark before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holdtrace.h"

static void *blocks[1000];
static int count;

static void keep(int n)
{
	while (n--)
		blocks[count++] = malloc(1000);
}

static void drop(int n)
{
	while (n--)
		free(blocks[--count]);
}

static void mark(const char *name)
{
	printf("%s %d\n", name, count);
	usleep(2000); /* what is said at a mark is not of the same moment as what comes then */
	holdtrace_mark(name);
	usleep(2000);
}

int main(void)
{
	static char buffer[4096];

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	keep(10);
	mark("one");
	keep(20);
	drop(5);
	mark("two");
	printf("one-two 15\none-two-calls 20\n");
	keep(70);
	printf("peak %d\n", count);
	drop(60);
	mark("three");
	fflush(stdout);
	if (fork() == 0) {
		keep(3);
		holdtrace_mark("child");
		usleep(2000);
		keep(4);
		_exit(0);
	}
	wait(NULL);
	puts("child 3");
	return 0;
}
