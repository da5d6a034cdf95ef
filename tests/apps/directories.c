/* SPDX-License-Identifier: MIT */
/* A directory stream has a descriptor, which comes and goes with it. */
#include "expect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
	DIR *directory = opendir("/tmp");
	DIR *volatile none = NULL; /* the compiler would refuse a plain one */
	int fd = dirfd(directory);

	expect("opendir<fd>(1) = 0x%x\n\t$path = /tmp\nopendir<dir>(1) = 0x%lx\n\t$path = /tmp", fd,
	       (unsigned long)directory);
	expect("closedir<fd>(0x%x)\nclosedir<dir>(0x%lx)", fd, (unsigned long)directory);
	closedir(directory);
	fd = open("/", O_RDONLY | O_DIRECTORY);
	directory = fdopendir(fd);
	expect("fdopendir<dir>(1) = 0x%lx\n\t$fd = %d", (unsigned long)directory, fd);
	expect("closedir<fd>(0x%x)\nclosedir<dir>(0x%lx)", fd, (unsigned long)directory);
	closedir(directory);
	if (opendir("/no such place") || errno != ENOENT)
		return 1;
	expect("opendir<event>(0x0)\n\t$path = /no such place");
	if (closedir(none) != -1 || errno != EINVAL)
		return 1;
	expect("closedir<event>(0x0)");
	expect_print();
	return 0;
}
