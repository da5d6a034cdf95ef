/* SPDX-License-Identifier: MIT */
/*
 * Two mistakes with descriptors: one is left open at each turn of a loop, another is closed twice.
 *
 *   cc -g -o fds examples/fds.c
 *   holdtrace record -o fds.htr ./fds
 *   holdtrace report fds fds.htr
 *
 * Look at the call sites that left descriptors open: read_settings has 50. Then at "Closed
 * twice": opened in main, closed first by finish and again by clean_up. Had somebody opened a file
 * in between, clean_up would have closed that one, without an error: the number is the same.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Returns early when there is nothing to read, and forgets what is open. */
static int read_settings(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return -1;
	if (read(fd, &byte, 1) == 0)
		return 0;
	close(fd);
	return 1;
}

static void finish(int fd)
{
	close(fd);
}

static void clean_up(int fd)
{
	if (close(fd))
		perror("close");
}

int main(void)
{
	int log = open("/dev/zero", O_RDONLY);

	for (int i = 0; i < 50; i++)
		read_settings("/dev/null");
	finish(log);
	clean_up(log);
	return 0;
}
