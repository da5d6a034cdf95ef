/* SPDX-License-Identifier: MIT */
#include "collect/door.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct door {
	struct shared *shared;
	int epoll;
	int socket;
	int reserve; /* given up for a moment when no other descriptor is left */
	uint32_t noticed;
};

static int listen_on(const char *session, struct error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int length, fd;

	/* abstract: the name begins with a NUL and ends where the length says */
	length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%s",
			  ARENA_SOCKET_PREFIX, session);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_system(err, errno, "cannot make the socket for exec");
	if (bind(fd, (struct sockaddr *)&address,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) < 0 ||
	    listen(fd, 128) < 0) {
		int number = errno;

		close(fd);
		return error_system(err, number, "cannot open the socket for exec");
	}
	return fd;
}

struct door *door_open(struct shared *shared, struct error *err)
{
	struct door *door = calloc(1, sizeof(*door));
	struct epoll_event event = { .events = EPOLLIN };

	if (!door) {
		error_system(err, ENOMEM, "cannot open the socket for exec");
		return NULL;
	}
	door->shared = shared;
	door->socket = listen_on(shared->session, err);
	door->epoll = epoll_create1(EPOLL_CLOEXEC);
	door->reserve = open("/dev/null", O_RDWR | O_CLOEXEC);
	event.data.fd = door->socket;
	if (door->epoll >= 0 && door->socket >= 0)
		epoll_ctl(door->epoll, EPOLL_CTL_ADD, door->socket, &event);
	return door;
}

void door_descriptors(const struct door *door, int descriptors[3])
{
	descriptors[0] = door->epoll;
	descriptors[1] = door->socket;
	descriptors[2] = door->reserve;
}

/* One of ours under another user id: it changed it after it had attached. */
static bool is_member(const struct arena *arena, int32_t pid)
{
	for (uint32_t i = 0; i < arena->processes_used && i < ARENA_PROCESSES; i++)
		if (arena->processes[i].state == PROCESS_ALIVE && arena->processes[i].pid == pid)
			return true;
	return false;
}

static bool may_enter(const struct door *door, int connection)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return false;
	return peer.uid == geteuid() || peer.uid == 0 || is_member(door->shared->arena, peer.pid);
}

/* One byte, and with it the descriptor. */
static void hand_over(int connection, int fd)
{
	char byte = 'h', control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Whoever asks waits for the answer: there must be one when all descriptors are in use, too. */
static int take_connection(struct door *door)
{
	int connection = accept4(door->socket, NULL, NULL, SOCK_CLOEXEC);

	if (connection >= 0 || errno != EMFILE || door->reserve < 0)
		return connection;
	close(door->reserve);
	door->reserve = -1;
	return accept4(door->socket, NULL, NULL, SOCK_CLOEXEC);
}

static void answer(struct door *door)
{
	int connection = take_connection(door);

	if (connection >= 0 && may_enter(door, connection))
		hand_over(connection, door->shared->fd);
	if (connection >= 0)
		close(connection);
	if (door->reserve < 0)
		door->reserve = open("/dev/null", O_RDWR | O_CLOEXEC);
}

static void notice(struct door *door)
{
	uint32_t *sleeping = &door->shared->arena->sleeping;

	__atomic_store_n(&door->noticed, 1, __ATOMIC_RELEASE);
	__atomic_store_n(sleeping, 0, __ATOMIC_SEQ_CST);
	shared_futex_wake(sleeping);
}

static void *keep(void *argument)
{
	struct door *door = argument;
	struct epoll_event events[16];

	for (;;) {
		int count = epoll_wait(door->epoll, events, 16, -1);

		if (count < 0 && errno != EINTR)
			return NULL;
		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == door->socket)
				answer(door);
			else
				notice(door);
		}
	}
}

int door_start(struct door *door, struct error *err)
{
	pthread_t thread;
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	ret = pthread_create(&thread, NULL, keep, door);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret)
		return error_system(err, ret, "cannot start a thread");
	pthread_detach(thread);
	return 0;
}

void door_watch(struct door *door, int pidfd)
{
	/* once: closing the descriptor ends the watch */
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.fd = pidfd };

	epoll_ctl(door->epoll, EPOLL_CTL_ADD, pidfd, &event);
}

bool door_noticed(struct door *door)
{
	return __atomic_exchange_n(&door->noticed, 0, __ATOMIC_ACQUIRE);
}

void door_close(struct door *door)
{
	/* not freed: the thread may be in the middle of an answer, and the program ends now */
	shutdown(door->socket, SHUT_RDWR);
}
