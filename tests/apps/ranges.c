/* SPDX-License-Identifier: MIT */
/* Whole ranges of descriptors are closed: each that was open is told. */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

static void gone(const char *how, int fd)
{
	expect("%s<fd>(0x%x)", how, fd);
}

int main(void)
{
	int file;

	/* Inherited descriptors are not counted: they are closed one by one. */
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	file = open("/etc/passwd", O_RDONLY);
	if (dup2(file, 30) < 0 || dup2(file, 32) < 0 || dup2(file, 900) < 0 || dup2(file, 901) < 0)
		return 1;
	if (close_range(30, 40, 0) && errno == ENOSYS)
		return 77;
	gone("close_range", 30);
	gone("close_range", 32);
	expect("close_range<event>(0x1e)\n\t$first = 30\n\t$last = 40\n\t$flags = 0x0");
	if (close_range(40, 30, 0) != -1 || errno != EINVAL ||
	    close_range(900, 1000, CLOSE_RANGE_CLOEXEC))
		return 1;
	expect("close_range<event>(0x28)\nclose_range<event>(0x384)\n\t$first = 900");
	if (close_range(100, ~0u, 0) || fcntl(900, F_GETFD) != -1)
		return 1;
	gone("close_range", 900);
	gone("close_range", 901);
	expect("close_range<event>(0x64)\n\t$first = 100\n\t$last = 4294967295");
	for (int fd = 500; fd < 900; fd++)
		if (dup2(file, fd) != fd)
			return 1;
	closefrom(499);
	gone("closefrom", 500);
	gone("closefrom", 899);
	expect("closefrom<event>(0x1f3)\n\t$first = 499");
	if (dup(file) != file + 1)
		return 1;
	expect("dup<fd>(1) = 0x%x", file + 1);
	expect_print();
	printf("= 400 closefrom<fd>(*)\n= 4 close_range<fd>(*)\n");
	return 0;
}
