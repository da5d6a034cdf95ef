/* SPDX-License-Identifier: MIT */
/*
 * closes-all HOW FILE: closes every descriptor (range, each, over: copies of one file over all),
 * works on, and writes "still here" to FILE: nothing else may get there.
 */
#include <fcntl.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/syscall.h>

#include "made.h"

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "range";
	int fd;

	say_made(200, 1081);
	make_silently(100, 1081);
	fd = argc > 2 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	if (strcmp(how, "range") == 0)
		syscall(SYS_close_range, 0, ~0u, 0);
	else if (strcmp(how, "each") == 0)
		for (int i = 0; i < 4096; i++)
			close(i);
	else
		for (int i = 0; i < 1024; i++)
			dup2(fd, i);
	if (strcmp(how, "over") != 0)
		fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
	make_silently(100, 1081);
	return write(fd, "still here\n", 11) == 11 ? 8 : 9;
}
