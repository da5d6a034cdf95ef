/* SPDX-License-Identifier: MIT */
/* Descriptors of things that are no files. */
#include "expect.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static void made(const char *how, int fd)
{
	if (fd < 0)
		exit(1);
	expect("%s<fd>(1) = 0x%x", how, fd);
}

int main(void)
{
	sigset_t set;
	int fd;

	made("eventfd", eventfd(7, EFD_CLOEXEC));
	expect("\t$value = 7\n\t$flags = 0x80000");
	made("timerfd_create", timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
	expect("\t$clock = 1\n\t$flags = 0x800");
	made("inotify_init", inotify_init());
	made("inotify_init1", inotify_init1(IN_CLOEXEC));
	expect("\t$flags = 0x80000");
	made("epoll_create", epoll_create(1));
	made("epoll_create1", epoll_create1(EPOLL_CLOEXEC));
	expect("\t$flags = 0x80000");
	made("memfd_create", memfd_create("a name", MFD_CLOEXEC));
	expect("\t$name = a name\n\t$flags = 0x1");
	sigemptyset(&set);
	fd = signalfd(-1, &set, 0);
	made("signalfd", fd);
	sigaddset(&set, SIGUSR1);
	if (signalfd(fd, &set, 0) != fd)
		return 1;
	expect("signalfd<event>(0x%x)\n\t$flags = 0x0", fd);
	fd = posix_openpt(O_RDWR | O_NOCTTY);
	if (fd >= 0)
		expect("posix_openpt<fd>(1) = 0x%x\n\t$flags = 0x102", fd);
	expect_print();
	return 0;
}
