/* SPDX-License-Identifier: MIT */
/* Descriptors: how they come, how they go, and what is said of them. */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static void closed(int fd)
{
	expect("close<fd>(0x%x)", fd);
	close(fd);
}

int main(void)
{
	int fd = open("/etc/passwd", O_RDONLY), second, ends[2];

	expect("open<fd>(1) = 0x%x\n\t$path = /etc/passwd\n\t$flags = 0x%x\n\t$mode = 0", fd,
	       O_RDONLY);
	second = dup(fd);
	expect("dup<fd>(1) = 0x%x\n\t$oldfd = %d", second, fd);
	if (dup2(fd, second) != second)
		return 1;
	expect("dup2<fd>(0x%x)\ndup2<fd>(1) = 0x%x\n\t$oldfd = %d", second, second, fd);
	if (dup3(fd, 77, O_CLOEXEC) != 77)
		return 1;
	expect("dup3<fd>(0x4d)\ndup3<fd>(1) = 0x4d\n\t$oldfd = %d\n\t$flags = 0x%x", fd, O_CLOEXEC);
	closed(77);
	closed(second);
	closed(fd);
	fd = openat(AT_FDCWD, "/tmp", O_RDONLY | O_DIRECTORY);
	expect("openat<fd>(1) = 0x%x\n\t$dirfd = -100\n\t$path = /tmp\n\t$flags = 0x%x\n\t$mode = "
	       "0",
	       fd, O_RDONLY | O_DIRECTORY);
	closed(fd);
	if (open("/does/not exist", O_RDWR | O_CREAT, 0640) != -1 || errno != ENOENT)
		return 1;
	expect("open<event>(0xffffffffffffffff)\n\t$path = /does/not exist\n\t$flags = "
	       "0x%x\n\t$mode = 0640",
	       O_RDWR | O_CREAT);
	if (pipe(ends))
		return 1;
	expect("pipe<fd>(1) = 0x%x\n\t$peer = %d\npipe<fd>(1) = 0x%x\n\t$peer = %d", ends[1],
	       ends[0], ends[0], ends[1]);
	closed(ends[0]);
	closed(ends[1]);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	expect("socket<fd>(1) = 0x%x\n\t$domain = 0x1\n\t$type = 0x1\n\t$protocol = 0x0", fd);
	closed(fd);
	errno = 0;
	if (close(999) != -1 || errno != EBADF)
		return 1;
	expect("close<event>(0x3e7)");
	expect_print();
	return 0;
}
