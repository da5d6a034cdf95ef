/* SPDX-License-Identifier: MIT */
/* Programs that were built with _FORTIFY_SOURCE open files by other names. */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

int main(void)
{
	int fd = __open_2("/etc/passwd", O_RDONLY);

	expect("__open_2<fd>(1) = 0x%x\n\t$path = /etc/passwd\n\t$flags = 0x0", fd);
	fd = __open64_2("/etc/passwd", O_RDONLY);
	expect("__open64_2<fd>(1) = 0x%x\n\t$path = /etc/passwd", fd);
	fd = __openat_2(AT_FDCWD, "/etc/passwd", O_CLOEXEC);
	expect("__openat_2<fd>(1) = 0x%x\n\t$dirfd = -100\n\t$path = /etc/passwd\n\t$flags = "
	       "0x80000",
	       fd);
	fd = __openat64_2(AT_FDCWD, "/etc/passwd", O_RDONLY);
	expect("__openat64_2<fd>(1) = 0x%x", fd);
	if (__open_2("/no such place", O_RDONLY) != -1 || errno != ENOENT)
		return 1;
	expect("__open_2<event>(0xffffffffffffffff)\n\t$path = /no such place");
	expect_print();
	return 0;
}
