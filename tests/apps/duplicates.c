/* SPDX-License-Identifier: MIT */
/* fcntl makes a descriptor by two of its commands; the others pass whole, whatever they take. */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int file = memfd_create("file", MFD_ALLOW_SEALING), fd, ends[2];

	fd = fcntl(file, F_DUPFD, 40);
	expect("fcntl<fd>(1) = 0x%x\n\t$oldfd = %d\n\t$least = 40\n\t$flags = 0x0", fd, file);
	fd = fcntl64(file, F_DUPFD_CLOEXEC, 41);
	expect("fcntl64<fd>(1) = 0x%x\n\t$oldfd = %d\n\t$least = 41\n\t$flags = 0x80000", fd, file);
	if (fd != 41 || fcntl(fd, F_GETFD) != FD_CLOEXEC)
		return 1;
	if (fcntl(-1, F_DUPFD, 0) != -1 || errno != EBADF)
		return 1;
	expect("fcntl<event>(0xffffffffffffffff)\n\t$oldfd = -1");
	/* A pointer, a large number, a small one, nothing. */
	if (fcntl(file, F_SETLK, &lock) || fcntl64(file, F_ADD_SEALS, F_SEAL_GROW) ||
	    fcntl(file, F_GET_SEALS) != F_SEAL_GROW || pipe(ends) ||
	    fcntl(ends[0], F_SETPIPE_SZ, 1 << 16) != 1 << 16 ||
	    fcntl(ends[0], F_GETPIPE_SZ) != 1 << 16)
		return 1;
	expect_print();
	printf("= 2 fcntl<*\n= 1 fcntl64<*\n");
	return 0;
}
