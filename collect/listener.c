/* SPDX-License-Identifier: MIT */
#include "collect/listener.h"

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
#include "process/maps.h"
#include "process/proc.h"
#include "contract.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* exists since Linux 6.5 */
#endif

/* maximum number of open connections of the owner; all other users together may have as many */
#define VISITORS_MOST 256
/* maximum number of open connections of each user other than the owner */
#define VISITORS_USER 64
/* maximum number of other users' connections that one call of accept_and_receive() accepts */
#define OTHERS_TURN 64
/* if a count in listener.crowd reaches this, new processes wait before they connect */
#define CROWD 128
/*
 * Limits of waiting guests (programs that sent a message). GUESTS_*: guests that sent memory;
 * SAYINGS_*: guests that sent only a request. *_USER: limit for each user other than the owner
 * (users whose ids are equal modulo USERS share a limit). *_OTHERS: limit for all these users
 * together.
 */
#define GUESTS_USER    512
#define GUESTS_OTHERS  2048
#define SAYINGS_USER   16384
#define SAYINGS_OTHERS 32768
/* other users' guests may use 1/OTHERS_PART of the descriptors, and so may their connections */
#define OTHERS_PART   8
#define USERS	      256
#define CLOSINGS_MOST 8
#define EVENTS_MOST   16      /* maximum number of events that one epoll_wait() returns */
#define PAUSE_NS      2000000 /* pause of the listener's thread after each turn, in ns */
#define NOBODY	      65534 /* uid of users without a mapping in this user namespace (overflowuid) */
/* if the descriptor limit is below this, the listener opens only the necessary descriptors */
#define LIMIT_COMFORT 64

/*
 * The listener's sockets, in the order in which it accepts their connections. BY_OWNER: on a path
 * that only owners may use; BY_NAME: on an abstract name; BY_PATH: on a path for all users;
 * BY_GUEST: in another network namespace.
 */
enum { BY_OWNER, BY_NAME, BY_PATH, BY_GUEST, SOCKETS };

struct listener {
	struct shared *shared;
	int epoll;
	int sockets[SOCKETS];  /* -1: not open */
	int path, owners_path; /* O_PATH descriptors of the socket files */
	/* spare descriptors, closed to accept a connection when no other descriptor is free */
	int reserve[2];
	bool is_tight;	     /* the limit of descriptors is too low for a thread */
	bool sees_all_users; /* in this user namespace, each user has a distinct uid */
	uid_t owner;
	uint32_t noticed, guest_count;
	pthread_mutex_t lock; /* guards visitors, first and last, and accept_and_receive() */
	struct guest *visitors;
	struct guest *first, **last;
	/* waiting guests by user, and of all but owners: [0] sent memory, [1] a request; atomic */
	uint32_t waiting_of[2][USERS], waiting_of_others[2];
	uint32_t others_most; /* limit of other users' guests and connections (OTHERS_PART) */
	/* counts of listener_crowd(): [0] for the owner, [1] for all other users; atomic */
	uint32_t crowd[2];
	uint64_t refused[REFUSAL_COUNT]; /* atomic counts; listener_refused() resets them */
};

/* ---- opening ---- */

static int listen_on(const struct sockaddr_un *address, socklen_t size)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
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
	/* an abstract socket: its name begins with a NUL and has an explicit length */
	int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%s",
			      CONTROL_SOCKET_PREFIX, session);

	return listen_on(&address,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length));
}

/*
 * Binds a socket in a directory and removes the socket's name immediately: programs connect by the
 * collector's descriptor in /proc. mode: who may connect. Returns the socket, or -1; *path: an
 * O_PATH descriptor of its file.
 */
static int listen_somewhere(const struct listener *listener, mode_t mode, int *path)
{
	static const char *const directories[] = { "/dev/shm", "/tmp", "/var/tmp", "." };

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		struct sockaddr_un address = { .sun_family = AF_UNIX };
		int fd;

		if (snprintf(address.sun_path, sizeof(address.sun_path), "%s/.%s%s", directories[i],
			     CONTROL_SOCKET_PREFIX,
			     listener->shared->session) >= (int)sizeof(address.sun_path))
			continue;
		fd = listen_on(&address, sizeof(address));
		if (fd < 0)
			continue;
		chmod(address.sun_path, mode);
		*path = open(address.sun_path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		unlink(address.sun_path);
		if (*path >= 0)
			return fd;
		close(fd);
	}
	return -1;
}

static void watch_socket(struct listener *listener, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (listener->epoll >= 0 && fd >= 0)
		epoll_ctl(listener->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Opens the two reserve descriptors: one is for a connection, one for memory sent over it. */
static bool take_reserve(struct listener *listener)
{
	for (int i = 0; i < 2; i++)
		if (listener->reserve[i] < 0)
			listener->reserve[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	return listener->reserve[0] >= 0 && listener->reserve[1] >= 0;
}

static void close_descriptor(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void give_reserve(struct listener *listener)
{
	close_descriptor(&listener->reserve[0]);
	close_descriptor(&listener->reserve[1]);
}

/*
 * Opens a second socket with the same abstract name in the network namespace of the process that
 * holdtrace attaches to. Programs can only connect to sockets in their own namespace. Returns -1 if
 * the process is in the collector's namespace, or if the collector may not enter that namespace.
 */
static int listen_in_network_of(int32_t pid, const char *session)
{
	char path[64];
	struct stat ours, theirs;
	cleanup_fd int own = -1, guest = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	guest = open(path, O_RDONLY | O_CLOEXEC);
	own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (guest < 0 || own < 0 || fstat(own, &ours) || fstat(guest, &theirs) ||
	    ours.st_ino == theirs.st_ino || setns(guest, CLONE_NEWNET))
		return -1;
	fd = listen_by_name(session);
	/* a process with the right to enter the namespace also has the right to return */
	while (setns(own, CLONE_NEWNET) && errno == EINTR)
		;
	return fd;
}

/* Whether this is the initial user namespace: in others, users without a mapping share a uid. */
static bool sees_all_users(void)
{
	cleanup_file FILE *map = fopen("/proc/self/uid_map", "re");
	unsigned first, outside, count;

	return map && fscanf(map, "%u %u %u", &first, &outside, &count) == 3 && !first &&
	       !outside && count == UINT32_MAX;
}

struct listener *listener_open(struct shared *shared, struct error *err)
{
	struct listener *listener = calloc(1, sizeof(*listener));
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	int name;

	if (!listener) {
		error_system(err, ENOMEM, "cannot open the socket");
		return NULL;
	}
	listener->shared = shared;
	listener->last = &listener->first;
	listener->owner = geteuid();
	getrlimit(RLIMIT_NOFILE, &limit);
	listener->others_most = (uint32_t)(limit.rlim_cur / OTHERS_PART / 2 < UINT32_MAX
						   ? limit.rlim_cur / OTHERS_PART / 2
						   : UINT32_MAX);
	listener->is_tight = limit.rlim_cur < LIMIT_COMFORT;
	listener->sees_all_users = sees_all_users();
	for (int i = 0; i < SOCKETS; i++)
		listener->sockets[i] = -1;
	listener->epoll = listener->path = listener->owners_path = -1;
	listener->reserve[0] = listener->reserve[1] = -1;
	pthread_mutex_init(&listener->lock, NULL);
	name = listen_by_name(shared->session);
	if (name < 0 || !take_reserve(listener)) {
		error_system(err, name < 0 ? -name : errno, "cannot open the socket");
		free(listener);
		return NULL;
	}
	listener->sockets[BY_NAME] = name;
	if (shared->control->guest)
		listener->sockets[BY_GUEST] =
			listen_in_network_of(shared->control->guest, shared->session);
	if (listener->is_tight) {
		give_reserve(listener);
	} else {
		listener->sockets[BY_PATH] = listen_somewhere(listener, 0666, &listener->path);
		listener->sockets[BY_OWNER] =
			listen_somewhere(listener, 0600, &listener->owners_path);
		listener->epoll = epoll_create1(EPOLL_CLOEXEC);
		for (int i = 0; i < SOCKETS; i++)
			watch_socket(listener, listener->sockets[i]);
	}
	shared->control->listener = listener->path;
	shared->control->owners_listener = listener->owners_path;
	return listener;
}

void listener_descriptors(const struct listener *listener, int descriptors[LISTENER_DESCRIPTORS])
{
	const int others[] = { listener->epoll, listener->path, listener->owners_path,
			       listener->reserve[0], listener->reserve[1] };

	memcpy(descriptors, listener->sockets, sizeof(listener->sockets));
	memcpy(descriptors + SOCKETS, others, sizeof(others));
}

/* ---- guests ---- */

static void hand_over(int connection, const char *bytes, size_t size, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { .iov_base = (char *)(uintptr_t)bytes, .iov_len = size };
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

bool listener_is_owner(const struct listener *listener, uid_t uid)
{
	return uid == 0 || uid == listener->owner;
}

static bool knows_secret(const struct listener *listener, uint64_t contract,
			 const uint64_t secret[2])
{
	const struct control_page *control = listener->shared->control;

	return contract == CONTRACT_HASH && secret[0] == control->secret[0] &&
	       secret[1] == control->secret[1];
}

_Static_assert(sizeof(struct arena_hello) != sizeof(struct control_request),
	       "the listener distinguishes these messages by their size");

/* number of threads that are closing a descriptor */
static uint32_t closings;

static void *close_one(void *argument)
{
	close((int)(intptr_t)argument);
	__atomic_sub_fetch(&closings, 1, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * Closes a descriptor that a program sent. Closing a file may wait for its file system, which may
 * be a program (FUSE) that never answers. So this function itself closes only a memfd, and a new
 * thread closes any other file.
 */
static void close_foreign(int fd)
{
	pthread_t thread;

	if (fd < 0)
		return;
	if (fcntl(fd, F_GET_SEALS) >= 0) {
		close(fd);
		return;
	}
	__atomic_add_fetch(&closings, 1, __ATOMIC_RELAXED);
	if (pthread_create(&thread, NULL, close_one, (void *)(intptr_t)fd) == 0)
		pthread_detach(thread);
}

/* Returns the first descriptor of a message, or -1. *sender: pid of the sender, or 0: unknown. */
static int take_control(struct msghdr *message, pid_t *sender)
{
	int memory = -1;

	*sender = 0;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
	     header = CMSG_NXTHDR(message, header)) {
		size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		struct ucred credentials;

		if (header->cmsg_level != SOL_SOCKET)
			continue;
		if (header->cmsg_type == SCM_CREDENTIALS &&
		    header->cmsg_len >= CMSG_LEN(sizeof(credentials))) {
			memcpy(&credentials, CMSG_DATA(header), sizeof(credentials));
			*sender = credentials.pid;
		}
		if (header->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
			if (memory < 0)
				memory = fd;
			else
				close_foreign(fd);
		}
	}
	return memory;
}

/*
 * Receives a visitor's message. Returns its length. -EAGAIN or -EINTR: the caller must try again
 * later; 0 or another negative errno: the listener will not accept a message from this visitor.
 */
static ssize_t listen_to(const struct listener *listener, struct guest *guest)
{
	char control[CMSG_SPACE(4 * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	size_t room = sizeof(*guest) - offsetof(struct guest, hello);
	struct iovec part = { .iov_base = &guest->hello, .iov_len = room };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t got =
		recv(guest->connection, &guest->hello, room, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
	pid_t sender;

	if (got < 0)
		return -errno;
	/* a message without the run's secret is not received: the kernel closes its descriptors */
	if (got == sizeof(guest->hello)
		    ? !knows_secret(listener, guest->hello.contract, guest->hello.secret)
		    : got != sizeof(guest->request) ||
			      !knows_secret(listener, guest->request.contract,
					    guest->request.secret))
		return 0;
	if (__atomic_load_n(&closings, __ATOMIC_ACQUIRE) >= CLOSINGS_MOST &&
	    !listener_is_owner(listener, guest->uid))
		return 0;
	got = recvmsg(guest->connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (got < 0)
		return -errno;
	guest->memory = take_control(&message, &sender);
	if (sender && sender != guest->pid)
		guest->doubt = "its message came from a process other than the one that opened "
			       "the connection";
	return got;
}

void listener_crowd(struct listener *listener, uid_t uid, int more)
{
	uint32_t *bits = &listener->shared->control->crowded;
	bool is_owner = listener_is_owner(listener, uid);
	uint32_t bit = is_owner ? CROWD_OF_OWNER : CROWD_OF_OTHERS;
	uint32_t crowd = __atomic_add_fetch(&listener->crowd[!is_owner], more, __ATOMIC_RELAXED);

	if (crowd >= CROWD)
		__atomic_or_fetch(bits, bit, __ATOMIC_RELAXED);
	else if (crowd < CROWD / 2 && __atomic_load_n(bits, __ATOMIC_RELAXED) & bit)
		__atomic_and_fetch(bits, ~bit, __ATOMIC_RELAXED);
}

/* Returns the counter of the waiting guests that have the same kind and user as `guest`. */
static uint32_t *waiting_like(struct listener *listener, const struct guest *guest)
{
	return &listener->waiting_of[guest->memory < 0][guest->uid % USERS];
}

/* Adds `more` (1 or -1) to the numbers of waiting guests of this guest's kind and user. */
static void count_waiting(struct listener *listener, const struct guest *guest, int more)
{
	uint32_t *others = &listener->waiting_of_others[guest->memory < 0];

	__atomic_add_fetch(waiting_like(listener, guest), more, __ATOMIC_RELAXED);
	if (!listener_is_owner(listener, guest->uid))
		__atomic_add_fetch(others, more, __ATOMIC_RELAXED);
	listener_crowd(listener, guest->uid, more);
}

void listener_attend(struct listener *listener, const struct guest *guest)
{
	count_waiting(listener, guest, -1);
}

uint64_t listener_refused(struct listener *listener, enum refusal why)
{
	return __atomic_exchange_n(&listener->refused[why], 0, __ATOMIC_RELAXED);
}

static void refuse(struct listener *listener, enum refusal why)
{
	__atomic_add_fetch(&listener->refused[why], 1, __ATOMIC_RELAXED);
}

static uint32_t least(uint32_t one, uint32_t other)
{
	return one < other ? one : other;
}

/* Whether the guest is refused because too many guests of its kind are already waiting. */
static bool is_turned_away(struct listener *listener, const struct guest *guest)
{
	bool is_message = guest->memory < 0;
	uint32_t of_user = is_message ? SAYINGS_USER : least(GUESTS_USER, listener->others_most);
	uint32_t of_others =
		is_message ? SAYINGS_OTHERS : least(GUESTS_OTHERS, listener->others_most);

	if (listener_is_owner(listener, guest->uid) ||
	    (__atomic_load_n(waiting_like(listener, guest), __ATOMIC_RELAXED) < of_user &&
	     __atomic_load_n(&listener->waiting_of_others[is_message], __ATOMIC_RELAXED) <
		     of_others))
		return false;
	refuse(listener, REFUSED_MEMBERS);
	return true;
}

/*
 * Whether a control request is refused: only owners control the run. Answers a refused request
 * immediately, so that it does not use a descriptor of the collector until the next round.
 */
static bool is_refused(struct listener *listener, const struct guest *guest)
{
	static const char answer[] = "!the run belongs to another user";

	if (guest->request.command == CONTROL_LEFT_OUT ||
	    (!guest->doubt && listener_is_owner(listener, guest->uid)))
		return false;
	refuse(listener, REFUSED_ORDER);
	send(guest->connection, answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
	return true;
}

/*
 * Whether a visitor that has sent a message of this size becomes a guest. Closes those of its
 * descriptors that the guest does not need.
 */
static bool let_in(struct listener *listener, struct guest *guest, size_t size)
{
	bool is_attach = size == sizeof(guest->hello);

	if (guest->memory >= 0) {
		if (!is_attach || is_turned_away(listener, guest))
			return false;
		/* for a control request, only the user matters, not the process */
		if (guest->is_stranger && !guest->doubt)
			guest->doubt =
				"the process that now has its pid does not belong to the run";
		close_descriptor(&guest->connection);
		return true;
	}
	/* the memory is missing: the kernel could not open its descriptor in this process */
	if (is_attach)
		refuse(listener, REFUSED_MEMORY);
	if (size != sizeof(guest->request))
		return false;
	if (guest->request.command == CONTROL_CONTROL) {
		/*
		 * Sends a descriptor of the control page with a new open file description. A
		 * process holds a flock to show that it is attached, and the lock belongs to the
		 * description. If the collector shared the description, the lock would outlive the
		 * process.
		 */
		cleanup_fd int own = shared_description(listener->shared);

		hand_over(guest->connection, "h", 1, own >= 0 ? own : listener->shared->fd);
		return false;
	}
	if (is_refused(listener, guest) || is_turned_away(listener, guest))
		return false;
	close_descriptor(&guest->pidfd);
	/* a program that only reports something gets no answer */
	if (guest->request.command == CONTROL_LEFT_OUT)
		close_descriptor(&guest->connection);
	return true;
}

/*
 * Receives the messages of all users. If `only` is set, receives those of user *only and the
 * owners, so that a crowd of other users does not delay that user. Receives in the order of
 * arrival: a process that executes another program has sent its message before that program
 * connects.
 */
static void receive_all(struct listener *listener, const uid_t *only)
{
	struct guest **at = &listener->visitors;

	while (*at) {
		struct guest *visitor = *at;
		bool concerns =
			!only || visitor->uid == *only || listener_is_owner(listener, visitor->uid);
		ssize_t got = concerns ? listen_to(listener, visitor) : -EAGAIN;

		if (got == -EAGAIN || got == -EINTR) {
			at = &visitor->next;
			continue;
		}
		*at = visitor->next;
		if (got <= 0 || !let_in(listener, visitor, (size_t)got)) {
			listener_dismiss(visitor);
			continue;
		}
		count_waiting(listener, visitor, 1);
		visitor->next = NULL;
		*listener->last = visitor;
		listener->last = &visitor->next;
		__atomic_add_fetch(&listener->guest_count, 1, __ATOMIC_RELEASE);
	}
}

/*
 * Opens a pidfd of the visitor's process. Before Linux 6.5 it has to be opened by pid, and another
 * process may have that pid by now. A process that does not map the control page is not of the run.
 */
static void open_pidfd(const struct listener *listener, struct guest *visitor)
{
	socklen_t size = sizeof(visitor->pidfd);

	if (getsockopt(visitor->connection, SOL_SOCKET, SO_PEERPIDFD, &visitor->pidfd, &size) ==
		    0 ||
	    visitor->pid <= 0)
		return;
	visitor->pidfd = (int)syscall(SYS_pidfd_open, visitor->pid, 0);
	if (visitor->pidfd >= 0 &&
	    !maps_have(visitor->pid, listener->shared->device, listener->shared->inode))
		visitor->is_stranger = true;
}

/*
 * Closes the oldest connection if too many are open. Without this limit, a program that connects
 * and sends nothing could keep others out. Each user has a limit of its own.
 */
static void make_place(struct listener *listener, uid_t uid)
{
	bool is_owner = listener_is_owner(listener, uid);
	struct guest **first = NULL, **first_of_user = NULL, **leaves = NULL, *visitor;
	unsigned count = 0, count_of_user = 0;

	for (struct guest **at = &listener->visitors; *at; at = &(*at)->next) {
		if (listener_is_owner(listener, (*at)->uid) != is_owner)
			continue;
		first = first ? first : at;
		count++;
		if ((*at)->uid != uid)
			continue;
		first_of_user = first_of_user ? first_of_user : at;
		count_of_user++;
	}
	if (!is_owner && count_of_user >= least(VISITORS_USER, listener->others_most))
		leaves = first_of_user;
	else if (count >= (is_owner ? VISITORS_MOST : least(VISITORS_MOST, listener->others_most)))
		leaves = first;
	if (!leaves)
		return;
	visitor = *leaves;
	*leaves = visitor->next;
	listener_dismiss(visitor);
}

/* Accepts a connection. Returns false if there is none. *others: counts users except owners. */
static bool accept_visitor(struct listener *listener, int socket, unsigned *others)
{
	struct guest *visitor, **at = &listener->visitors;
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int connection, on = 1;

	if (socket < 0)
		return false;
	connection = accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	/* if all descriptors are in use, closes the reserve to free two of them */
	if (connection < 0 && errno == EMFILE && listener->reserve[0] >= 0) {
		give_reserve(listener);
		connection = accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	}
	if (connection < 0)
		return false;
	setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	visitor = calloc(1, sizeof(*visitor));
	if (!visitor || getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
		free(visitor);
		close(connection);
		return true;
	}
	visitor->connection = connection;
	visitor->pidfd = visitor->memory = -1;
	visitor->pid = peer.pid;
	visitor->uid = peer.uid;
	*others += !listener_is_owner(listener, peer.uid);
	if (peer.pid <= 0)
		visitor->doubt = "it is in a pid namespace that the collector cannot see";
	else if (!listener->sees_all_users && peer.uid == NOBODY)
		visitor->doubt = "its user has no id in the collector's user namespace";
	if (listener->reserve[0] >= 0)
		open_pidfd(listener, visitor);
	receive_all(listener, &visitor->uid);
	make_place(listener, visitor->uid);
	while (*at)
		at = &(*at)->next;
	*at = visitor;
	receive_all(listener, &peer.uid);
	/* watches the connection if its message has not arrived */
	for (visitor = listener->visitors; visitor; visitor = visitor->next)
		if (visitor->connection == connection)
			watch_socket(listener, connection);
	return true;
}

/* Accepts connections and receives messages. Returns true if it stopped because of OTHERS_TURN. */
static bool accept_and_receive(struct listener *listener)
{
	unsigned others = 0;

	pthread_mutex_lock(&listener->lock);
	receive_all(listener, NULL);
	for (int i = 0; others < OTHERS_TURN && i < SOCKETS;)
		i = accept_visitor(listener, listener->sockets[i], &others) ? 0 : i + 1;
	if (!listener->is_tight)
		take_reserve(listener);
	pthread_mutex_unlock(&listener->lock);
	return others >= OTHERS_TURN;
}

struct guest *listener_take(struct listener *listener, bool *has_more)
{
	struct guest *guests;

	*has_more = accept_and_receive(listener);
	pthread_mutex_lock(&listener->lock);
	guests = listener->first;
	listener->first = NULL;
	listener->last = &listener->first;
	__atomic_store_n(&listener->guest_count, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&listener->lock);
	return guests;
}

bool listener_has_guests(const struct listener *listener)
{
	return __atomic_load_n(&listener->guest_count, __ATOMIC_ACQUIRE) != 0;
}

bool listener_is_unwatched(const struct listener *listener)
{
	return listener->epoll < 0;
}

void listener_answer(struct guest *guest, const char *text)
{
	if (guest->connection < 0)
		return;
	send(guest->connection, text, strlen(text) + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void listener_answer_with(struct guest *guest, const char *text, int fd)
{
	if (guest->connection >= 0)
		hand_over(guest->connection, text, strlen(text) + 1, fd);
}

void listener_dismiss(struct guest *guest)
{
	close_foreign(guest->memory);
	close_descriptor(&guest->pidfd);
	/* this also removes the connection from epoll */
	close_descriptor(&guest->connection);
	free(guest);
}

/* ---- the thread ---- */

/* event data of all pidfds: the number of a pidfd may be reused before its event arrives */
#define PROCESS_ENDED UINT64_MAX

/*
 * The thread pauses after each turn. Events in the pause do not wake the thread, since a wake would
 * delay a process that runs for a short time. It is also cheaper to serve several connections in
 * one turn.
 */
static void *listener_thread(void *argument)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	struct listener *listener = argument;
	struct epoll_event events[EVENTS_MOST];

	for (;;) {
		int count = epoll_wait(listener->epoll, events, EVENTS_MOST, -1);
		bool has_visitors = false;

		if (count < 0 && errno != EINTR)
			return NULL;
		for (int i = 0; i < count; i++) {
			if (events[i].data.u64 == PROCESS_ENDED)
				__atomic_store_n(&listener->noticed, 1, __ATOMIC_RELEASE);
			else
				has_visitors = true;
		}
		if (has_visitors)
			accept_and_receive(listener);
		if (count > 0)
			shared_wake(&listener->shared->control->sleeping);
		if (count < EVENTS_MOST)
			nanosleep(&pause, NULL);
	}
}

int listener_start(struct listener *listener, struct error *err)
{
	pthread_t thread;
	sigset_t all, before;
	int ret;

	if (listener->epoll < 0)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	ret = pthread_create(&thread, NULL, listener_thread, listener);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret)
		return error_system(err, ret, "cannot start a thread");
	pthread_detach(thread);
	return 0;
}

void listener_watch(struct listener *listener, int pidfd)
{
	/* EPOLLONESHOT: the process's end is reported once; closing the pidfd ends the watch */
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = PROCESS_ENDED };

	epoll_ctl(listener->epoll, EPOLL_CTL_ADD, pidfd, &event);
}

bool listener_noticed(struct listener *listener)
{
	return __atomic_exchange_n(&listener->noticed, 0, __ATOMIC_ACQUIRE);
}

void listener_close(struct listener *listener)
{
	/* does not free the listener: its thread may still run until the collector exits */
	for (int i = 0; i < SOCKETS; i++)
		if (listener->sockets[i] >= 0)
			shutdown(listener->sockets[i], SHUT_RDWR);
}
