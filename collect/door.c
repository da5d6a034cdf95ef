/* SPDX-License-Identifier: MIT */
#include "collect/door.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "contract.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/* Somebody who has come in and not said yet what he wants, in the order of their coming. */
struct visitor {
	struct visitor *next;
	int connection, pidfd;
	pid_t pid;
};

#define VISITORS_MOST 256
#define EVENTS_MOST   16      /* that epoll tells at once */
#define PAUSE_NS      2000000 /* between two times that somebody is let in or seen to end */
#define LIMIT_COMFORT 64      /* with fewer descriptors we do with what is needed */

struct door {
	struct shared *shared;
	int epoll;
	int by_name, by_path, by_guest; /* sockets that listen */
	int path;			/* leads to the second one */
	int reserve[2];			/* given up for a moment when no other descriptor is left */
	bool is_tight; /* there are too few for more than what is needed: nobody listens */
	uint32_t noticed, guest_count;
	pthread_mutex_t lock; /* of all below, and of who serves */
	struct visitor *visitors;
	struct guest *first, **last;
};

/* ---- opening ---- */

static int listen_on(const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)address, size) < 0 || listen(fd, INT_MAX) < 0) {
		int number = errno;

		close(fd);
		return -number;
	}
	return fd;
}

static int listen_by_name(const char *session)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	/* abstract: the name begins with a NUL and ends where the length says */
	int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%s",
			      BOARD_SOCKET_PREFIX, session);

	return listen_on(&address,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length));
}

/*
 * A socket in a directory, whose name is taken away at once: our descriptor leads there, through
 * /proc. Programs of other users may come, too, if they find the way.
 */
static bool listen_in(struct door *door, const char *directory)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s/.%s%s", directory,
		     BOARD_SOCKET_PREFIX, door->shared->session) >= (int)sizeof(address.sun_path))
		return false;
	door->by_path = listen_on(&address, sizeof(address));
	if (door->by_path < 0)
		return false;
	chmod(address.sun_path, 0666);
	door->path = open(address.sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	unlink(address.sun_path);
	if (door->path >= 0)
		return true;
	close(door->by_path);
	door->by_path = -1;
	return false;
}

static void listen_by_path(struct door *door)
{
	static const char *const directories[] = { "/dev/shm", "/tmp", "/var/tmp", "." };

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		if (listen_in(door, directories[i]))
			return;
}

static void watch_socket(struct door *door, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (door->epoll >= 0 && fd >= 0)
		epoll_ctl(door->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Whoever comes needs two descriptors: his own way in, and what he brings. */
static bool take_reserve(struct door *door)
{
	for (int i = 0; i < 2; i++)
		if (door->reserve[i] < 0)
			door->reserve[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	return door->reserve[0] >= 0 && door->reserve[1] >= 0;
}

static void give_reserve(struct door *door)
{
	for (int i = 0; i < 2; i++) {
		if (door->reserve[i] >= 0)
			close(door->reserve[i]);
		door->reserve[i] = -1;
	}
}

/*
 * The same name in the network namespace of a process that is to be attached to: a socket belongs
 * to where it was made. Where that is ours, or may not be entered, there is none.
 */
static void listen_in_network_of(struct door *door, int32_t pid)
{
	char path[64];
	struct stat ours, theirs;
	cleanup_fd int own = -1, guest = -1;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	guest = open(path, O_RDONLY | O_CLOEXEC);
	own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (guest < 0 || own < 0 || fstat(own, &ours) || fstat(guest, &theirs) ||
	    ours.st_ino == theirs.st_ino || setns(guest, CLONE_NEWNET))
		return;
	door->by_guest = listen_by_name(door->shared->session);
	/* with a way in there is always one back */
	while (setns(own, CLONE_NEWNET) && errno == EINTR)
		;
}

/* Who listens, and where, if there are descriptors for it. */
static void open_comfort(struct door *door)
{
	struct rlimit limit;

	door->is_tight = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < LIMIT_COMFORT;
	if (door->is_tight) {
		give_reserve(door);
		return;
	}
	listen_by_path(door);
	door->epoll = epoll_create1(EPOLL_CLOEXEC);
	watch_socket(door, door->by_name);
	watch_socket(door, door->by_path);
	watch_socket(door, door->by_guest);
}

struct door *door_open(struct shared *shared, struct error *err)
{
	struct door *door = calloc(1, sizeof(*door));

	if (!door) {
		error_system(err, ENOMEM, "cannot open the socket");
		return NULL;
	}
	door->shared = shared;
	door->last = &door->first;
	door->by_path = door->by_guest = door->path = door->epoll = -1;
	door->reserve[0] = door->reserve[1] = -1;
	pthread_mutex_init(&door->lock, NULL);
	door->by_name = listen_by_name(shared->session);
	if (door->by_name < 0 || !take_reserve(door)) {
		error_system(err, door->by_name < 0 ? -door->by_name : errno,
			     "cannot open the socket");
		free(door);
		return NULL;
	}
	if (shared->board->guest)
		listen_in_network_of(door, shared->board->guest);
	open_comfort(door);
	shared->board->door = door->path;
	return door;
}

void door_descriptors(const struct door *door, int descriptors[DOOR_DESCRIPTORS])
{
	descriptors[0] = door->epoll;
	descriptors[1] = door->by_name;
	descriptors[2] = door->by_path;
	descriptors[3] = door->path;
	descriptors[4] = door->reserve[0];
	descriptors[5] = door->reserve[1];
	descriptors[6] = door->by_guest;
}

/* ---- guests ---- */

static void wake(struct door *door)
{
	shared_wake(&door->shared->board->sleeping);
}

/* One byte, and with it the board. */
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

/*
 * The lock by which a process says that it is there belongs to the description: in ours it would
 * outlive the process.
 */
static void give_board(const struct door *door, int connection)
{
	cleanup_fd int own = shared_description(door->shared);

	hand_over(connection, own >= 0 ? own : door->shared->fd);
}

/* The descriptors that came with a message: the first one, or -1. More than one nobody sends. */
static int take_descriptors(struct msghdr *message)
{
	int memory = -1;

	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
	     header = CMSG_NXTHDR(message, header)) {
		size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
			if (memory < 0)
				memory = fd;
			else
				close(fd);
		}
	}
	return memory;
}

/* What a visitor says. Returns its length, 0 or less if there is nothing (yet: -EAGAIN). */
static ssize_t listen_to(const struct visitor *visitor, struct guest *guest)
{
	char control[CMSG_SPACE(4 * sizeof(int))];
	size_t room = sizeof(*guest) - offsetof(struct guest, hello);
	struct iovec part = { .iov_base = &guest->hello, .iov_len = room };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t got = recvmsg(visitor->connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (got < 0)
		return -errno;
	guest->memory = take_descriptors(&message);
	return got;
}

static bool knows_secret(const struct door *door, uint64_t contract, const uint64_t secret[2])
{
	const struct board *board = door->shared->board;

	return contract == CONTRACT_HASH && secret[0] == board->secret[0] &&
	       secret[1] == board->secret[1];
}

static void add_guest(struct door *door, struct guest *guest)
{
	*door->last = guest;
	door->last = &guest->next;
	__atomic_add_fetch(&door->guest_count, 1, __ATOMIC_RELEASE);
}

/* True if it was let in; its connection and its descriptors are then the guest's. */
static bool let_in(struct door *door, struct visitor *visitor, struct guest *guest, size_t size)
{
	guest->pid = visitor->pid;
	guest->pidfd = guest->connection = -1;
	if (guest->memory >= 0) {
		if (size != sizeof(guest->hello) ||
		    !knows_secret(door, guest->hello.contract, guest->hello.secret))
			return false;
		guest->pidfd = visitor->pidfd;
		visitor->pidfd = -1;
		add_guest(door, guest);
		return true;
	}
	if (size != sizeof(guest->request) ||
	    !knows_secret(door, guest->request.contract, guest->request.secret))
		return false;
	if (guest->request.command == CONTROL_BOARD) {
		give_board(door, visitor->connection);
		return false;
	}
	guest->connection = visitor->connection;
	visitor->connection = -1;
	add_guest(door, guest);
	return true;
}

/* True if there is nothing more to wait for from this one. */
static bool receive(struct door *door, struct visitor *visitor)
{
	struct guest *guest = calloc(1, sizeof(*guest));
	ssize_t got;

	if (!guest)
		return true;
	guest->memory = -1;
	got = listen_to(visitor, guest);
	if (got > 0 && let_in(door, visitor, guest, (size_t)got))
		return true;
	if (guest->memory >= 0)
		close(guest->memory);
	free(guest);
	return got != -EAGAIN && got != -EINTR;
}

static void forget(struct visitor **at)
{
	struct visitor *visitor = *at;

	*at = visitor->next;
	/* closing ends the watch of epoll, too; a guest's connection is answered later */
	if (visitor->connection >= 0)
		close(visitor->connection);
	if (visitor->pidfd >= 0)
		close(visitor->pidfd);
	free(visitor);
}

/*
 * From the first to come to the last: who executes another program has said all that he had to say
 * before that one comes.
 */
static void hear_all(struct door *door)
{
	struct visitor **at = &door->visitors;

	while (*at) {
		if (receive(door, *at))
			forget(at);
		else
			at = &(*at)->next;
	}
}

static int open_pidfd(int connection, pid_t pid)
{
	int pidfd = -1;
	socklen_t size = sizeof(pidfd);

	if (getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0)
		return pidfd;
	return pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

/* There must be a place for whoever comes when all descriptors are in use, too. */
static int accept_one(struct door *door, int socket)
{
	int connection = accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (connection >= 0 || errno != EMFILE || door->reserve[0] < 0)
		return connection;
	give_reserve(door);
	return accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* Who has not been heard yet is, when he speaks. */
static void watch_visitor(struct door *door, int connection)
{
	for (const struct visitor *visitor = door->visitors; visitor; visitor = visitor->next)
		if (visitor->connection == connection)
			watch_socket(door, connection);
}

static bool welcome(struct door *door, int socket)
{
	int connection = socket < 0 ? -1 : accept_one(door, socket);
	struct visitor **at = &door->visitors;
	struct visitor *visitor;
	struct ucred peer;
	socklen_t size = sizeof(peer);
	unsigned count;

	if (connection < 0)
		return false;
	visitor = calloc(1, sizeof(*visitor));
	if (!visitor || getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
		free(visitor);
		close(connection);
		return true;
	}
	for (count = 0; *at; count++)
		at = &(*at)->next;
	visitor->connection = connection;
	visitor->pid = peer.pid;
	visitor->pidfd = door->reserve[0] < 0 ? -1 : open_pidfd(connection, peer.pid);
	*at = visitor;
	hear_all(door);
	/* anybody may come in and say nothing: the first of too many has had his time */
	if (count >= VISITORS_MOST && door->visitors)
		forget(&door->visitors);
	watch_visitor(door, connection);
	return true;
}

static void serve(struct door *door)
{
	pthread_mutex_lock(&door->lock);
	hear_all(door);
	while (welcome(door, door->by_name) || welcome(door, door->by_path) ||
	       welcome(door, door->by_guest))
		;
	if (!door->is_tight)
		take_reserve(door);
	pthread_mutex_unlock(&door->lock);
}

struct guest *door_take(struct door *door)
{
	struct guest *guests;

	serve(door);
	pthread_mutex_lock(&door->lock);
	guests = door->first;
	door->first = NULL;
	door->last = &door->first;
	__atomic_store_n(&door->guest_count, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&door->lock);
	return guests;
}

bool door_has_guests(const struct door *door)
{
	return __atomic_load_n(&door->guest_count, __ATOMIC_ACQUIRE) != 0;
}

bool door_is_unwatched(const struct door *door)
{
	return door->epoll < 0;
}

void door_answer(struct guest *guest, const char *text)
{
	if (guest->connection < 0)
		return;
	send(guest->connection, text, strlen(text) + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void door_dismiss(struct guest *guest)
{
	if (guest->memory >= 0)
		close(guest->memory);
	if (guest->pidfd >= 0)
		close(guest->pidfd);
	if (guest->connection >= 0)
		close(guest->connection);
	free(guest);
}

/* ---- the thread ---- */

/* What epoll says of a process that ended. Its descriptor may be closed and another's by then. */
#define PROCESS_ENDED UINT64_MAX

/*
 * Who comes or ends while we are elsewhere wakes nobody, which a short process would pay for; and
 * several at once cost less than one by one.
 */
static void *keep(void *argument)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct door *door = argument;
	struct epoll_event events[EVENTS_MOST];

	for (;;) {
		int count = epoll_wait(door->epoll, events, EVENTS_MOST, -1);
		bool has_visitors = false;

		if (count < 0 && errno != EINTR)
			return NULL;
		for (int i = 0; i < count; i++) {
			if (events[i].data.u64 == PROCESS_ENDED)
				__atomic_store_n(&door->noticed, 1, __ATOMIC_RELEASE);
			else
				has_visitors = true;
		}
		if (has_visitors)
			serve(door);
		if (count > 0)
			wake(door);
		if (count < EVENTS_MOST)
			nanosleep(&pause, NULL);
	}
}

int door_start(struct door *door, struct error *err)
{
	pthread_t thread;
	sigset_t all, before;
	int ret;

	if (door->epoll < 0)
		return 0;
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
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = PROCESS_ENDED };

	epoll_ctl(door->epoll, EPOLL_CTL_ADD, pidfd, &event);
}

bool door_noticed(struct door *door)
{
	return __atomic_exchange_n(&door->noticed, 0, __ATOMIC_ACQUIRE);
}

void door_close(struct door *door)
{
	/* not freed: the thread may be in the middle of an answer, and the program ends now */
	if (door->by_name >= 0)
		shutdown(door->by_name, SHUT_RDWR);
	if (door->by_path >= 0)
		shutdown(door->by_path, SHUT_RDWR);
	if (door->by_guest >= 0)
		shutdown(door->by_guest, SHUT_RDWR);
}
