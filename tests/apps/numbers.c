/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that are opened and closed by syscall(2): events of libc's functions, or of the
 * system call. A call that the kernel lacks or refuses is left out.
 */
#include "expect.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

/* Expects that the call opened fd, unless it failed. Returns whether it did. */
static int made(const char *how, long fd)
{
	if (fd >= 0)
		expect("%s<fd>(1) = 0x%lx", how, fd);
	return fd >= 0;
}

int main(void)
{
	struct {
		unsigned long long flags, mode, resolve;
	} how = { O_RDONLY | O_CLOEXEC, 0, 0 };
	unsigned int ring[30] = { 0 };
	sigset_t set;
	int ends[2];
	long fd;

	sigemptyset(&set);
	fd = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY);
	if (!made("openat", fd))
		return 1;
	expect("\t$dirfd = -100\n\t$path = /dev/null\n\t$flags = 0x0");
	if (syscall(SYS_dup, fd) != fd + 1)
		return 2;
	expect("dup<fd>(1) = 0x%lx\n\t$oldfd = %ld", fd + 1, fd);
	if (syscall(SYS_dup3, fd, fd + 1, O_CLOEXEC) != fd + 1)
		return 3;
	expect("dup3<fd>(0x%lx)\ndup3<fd>(1) = 0x%lx\n\t$oldfd = %ld\n\t$flags = 0x80000\n\t$newfd "
	       "= %ld",
	       fd + 1, fd + 1, fd, fd + 1);
	if (syscall(SYS_close, fd + 1))
		return 4;
	expect("close<fd>(0x%lx)", fd + 1);
	errno = 0;
	if (syscall(SYS_close, fd + 1) != -1 || errno != EBADF)
		return 5;
	if (syscall(SYS_pipe2, ends, O_CLOEXEC))
		return 6;
	expect("pipe2<fd>(1) = 0x%x\n\t$peer = %d\npipe2<fd>(1) = 0x%x\n\t$peer = %d", ends[1],
	       ends[0], ends[0], ends[1]);
	if (syscall(SYS_close_range, ends[0], ends[1], 0))
		return 7;
	expect("close_range<fd>(0x%x)\nclose_range<fd>(0x%x)", ends[0], ends[1]);
	made("eventfd", syscall(SYS_eventfd2, 7, O_CLOEXEC));
	expect("\t$value = 7\n\t$flags = 0x80000");
	made("timerfd_create", syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0));
	made("signalfd", syscall(SYS_signalfd4, -1, &set, 8, O_CLOEXEC));
	expect("\t$flags = 0x80000\n\t$fd = -1");
	made("inotify_init1", syscall(SYS_inotify_init1, 0));
	made("epoll_create1", syscall(SYS_epoll_create1, O_CLOEXEC));
	made("memfd_create", syscall(SYS_memfd_create, "a name", 1));
	expect("\t$name = a name\n\t$flags = 0x1");
	made("socket", syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0));
	if (made("pidfd_open", syscall(SYS_pidfd_open, getpid(), 0)))
		expect("\t$pid = %d\n\t$flags = 0x0", (int)getpid());
	made("memfd_secret", syscall(SYS_memfd_secret, 0));
	if (made("openat2", syscall(SYS_openat2, AT_FDCWD, "/dev/null", &how, sizeof(how))))
		expect("\t$dirfd = -100\n\t$path = /dev/null");
	if (made("io_uring_setup", syscall(SYS_io_uring_setup, 1, ring)))
		expect("\t$entries = 1");
	made("userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC));
	/* the version of Landlock is no descriptor, and neither is a failure */
	syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	syscall(SYS_bpf, 1, NULL, 0);
	/* not of interest */
	if (syscall(SYS_getpid) != getpid() || syscall(-1) != -1 || syscall(1L << 40) != -1)
		return 8;
	/* six arguments */
	if (syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 1) != -1 || errno != EINVAL)
		return 9;
	expect_print();
	return 0;
}
