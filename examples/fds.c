/* SPDX-License-Identifier: MIT */
/*
 * Two bugs with descriptors: each iteration of a loop leaves one open, and one is closed twice.
 *
 *   cc -g -o fds examples/fds.c
 *   holdtrace record -o fds.htr ./fds
 *   holdtrace report fds fds.htr
 *
 * See the call sites that left descriptors open: read_settings has 50. Then see "Closed twice":
 * main opened the descriptor, finish closed it, and clean_up closed it again. A file that was
 * opened in between would have got the same number, and clean_up would have closed it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Returns early if there is nothing to read, and leaves the descriptor open. */
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
