/* SPDX-License-Identifier: MIT */
/*
 * Hangs in the call that its argument names, below a function hang(), until SIGINT ends it after a
 * moment.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int fds[2], file;
static pid_t parent, child;

static int listener(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "hangs.socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	unlink(address.sun_path);
	bind(fd, (struct sockaddr *)&address, sizeof(address));
	listen(fd, 0);
	return fd;
}

/* The queue of the listener holds one connection, so the second call waits. */
static int hang_in_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "hangs.socket" };
	int first = socket(AF_UNIX, SOCK_STREAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0);

	connect(first, (struct sockaddr *)&address, sizeof(address));
	return connect(second, (struct sockaddr *)&address, sizeof(address));
}

static void wait_for_parent(void)
{
	while (getppid() == parent)
		usleep(10000);
	_exit(0);
}

/* Another process has the locks. */
static void lock_in_child(void)
{
	struct flock whole = { .l_type = F_WRLCK };
	int theirs;

	file = open("hangs.file", O_RDWR | O_CREAT, 0600);
	child = fork();
	if (child) {
		char byte;

		if (read(fds[0], &byte, 1) != 1)
			_exit(3);
		return;
	}
	theirs = open("hangs.file", O_RDWR);
	flock(theirs, LOCK_EX);
	fcntl(theirs, F_SETLK, &whole);
	if (write(fds[1], "x", 1) != 1)
		_exit(3);
	wait_for_parent();
}

/* Removes the queue when the parent has ended. */
static void wait_for_end(int queue)
{
	while (getppid() == parent)
		usleep(10000);
	msgctl(queue, IPC_RMID, NULL);
}

static long hang(const char *name)
{
	char buffer[65536 * 2] = "";
	struct pollfd polled = { .fd = fds[0], .events = POLLIN };
	struct epoll_event event = { .events = EPOLLIN };
	struct flock whole = { .l_type = F_WRLCK };
	sigset_t set;
	fd_set reads;
	int got;

	FD_ZERO(&reads);
	FD_SET(fds[0], &reads);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (!strcmp(name, "poll"))
		return poll(&polled, 1, -1);
	if (!strcmp(name, "select"))
		return select(fds[0] + 1, &reads, NULL, NULL, NULL);
	if (!strcmp(name, "epoll_wait")) {
		int epoll = epoll_create1(0);

		epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event);
		return epoll_wait(epoll, &event, 1, -1);
	}
	if (!strcmp(name, "read"))
		return read(fds[0], buffer, 1);
	if (!strcmp(name, "write"))
		return write(fds[1], buffer, sizeof(buffer));
	if (!strcmp(name, "recv")) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
		return recv(fds[0], buffer, 1, 0);
	}
	if (!strcmp(name, "accept"))
		return accept(listener(), NULL, NULL);
	if (!strcmp(name, "connect")) {
		listener();
		return hang_in_connect();
	}
	if (!strcmp(name, "nanosleep"))
		return nanosleep(&(struct timespec){ .tv_sec = 1000 }, NULL);
	if (!strcmp(name, "flock")) {
		lock_in_child();
		return flock(file, LOCK_EX);
	}
	if (!strcmp(name, "fcntl")) {
		lock_in_child();
		return fcntl(file, F_SETLKW, &whole);
	}
	if (!strcmp(name, "waitpid")) {
		child = fork();
		if (!child)
			wait_for_parent();
		return waitpid(child, NULL, 0);
	}
	if (!strcmp(name, "sigwait"))
		return sigwait(&set, &got);
	if (!strcmp(name, "splice")) {
		int others[2];

		return pipe(others) || splice(fds[0], NULL, others[1], NULL, 1, 0);
	}
	if (!strcmp(name, "mq_receive")) {
		struct mq_attr limits = { .mq_maxmsg = 1, .mq_msgsize = 8 };
		mqd_t queue = mq_open("/hangs", O_RDWR | O_CREAT, 0600, &limits);

		mq_unlink("/hangs");
		return mq_receive(queue, buffer, sizeof(buffer), NULL);
	}
	if (!strcmp(name, "msgrcv")) {
		int queue = msgget(IPC_PRIVATE, 0600);

		/* a queue exists until it is removed, and this one is needed until SIGINT comes */
		if (!fork()) {
			wait_for_end(queue);
			_exit(0);
		}
		return msgrcv(queue, buffer, 8, 0, 0);
	}
	if (!strcmp(name, "fgets"))
		return !fgets(buffer, 8, fdopen(fds[0], "r"));
	if (!strcmp(name, "getc"))
		return getc(fdopen(fds[0], "r"));
	if (!strcmp(name, "getline")) {
		char *line = NULL;
		size_t room = 0;

		return getline(&line, &room, fdopen(fds[0], "r"));
	}
	fprintf(stderr, "hangs: unknown: %s\n", name);
	return 1;
}

int main(int argc, char **argv)
{
	const struct itimerspec moment = { .it_value = { .tv_nsec = 250000000 } };
	struct sigevent interrupt = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGINT };
	timer_t timer;

	parent = getpid();
	if (argc < 2 || pipe(fds) || timer_create(CLOCK_MONOTONIC, &interrupt, &timer) ||
	    timer_settime(timer, 0, &moment, NULL))
		return 2;
	signal(SIGINT, SIG_DFL);
	return hang(argv[1]) != 0;
}
