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
#include "process/maps.h"
#include "process/proc.h"
#include "contract.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/* Somebody who has come in and not said yet what he wants, in the order of their coming. */
struct visitor {
	struct visitor *next;
	int connection, pidfd;
	pid_t pid;
	uid_t uid;
	const char *doubt; /* as in struct guest */
	bool is_stranger;  /* who has the number of its process by now is not of the run */
};

#define VISITORS_MOST 256 /* of the owner, and of all others together; … */
#define VISITORS_USER 64  /* … of each of these */
#define OTHERS_TURN   64  /* of them that are let in at once */
#define CROWD	      128 /* waiting guests and ended processes, before others should wait */
#define GUESTS_USER   512 /* of a user who is not the owner, and of those with the same remainder */
#define SAYINGS_USER  16384
#define USERS	      256
#define CLOSINGS_MOST 8
#define EVENTS_MOST   16      /* that epoll tells at once */
#define PAUSE_NS      2000000 /* between two times that somebody is let in or seen to end */
#define NOBODY	      65534   /* kernel/sys.c, overflowuid */
#define LIMIT_COMFORT 64      /* with fewer descriptors we do with what is needed */

struct door {
	struct shared *shared;
	int epoll;
	int by_name, by_path, by_guest; /* sockets that listen */
	int path;			/* leads to the second one */
	int reserve[2];			/* given up for a moment when no other descriptor is left */
	bool is_tight;	     /* there are too few for more than what is needed: nobody listens */
	bool sees_all_users; /* each user has a number of his own here */
	uid_t owner;
	uint32_t noticed, guest_count;
	pthread_mutex_t lock; /* of all below, and of who serves */
	struct visitor *visitors;
	struct guest *first, **last;
	uint32_t waiting_of[USERS]; /* guests, by the user's number */
	uint32_t crowd[2];	    /* of the owner, and of others: atomic */
	uint64_t turned_away;	    /* atomic */
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

/* Outside of user namespaces: there a user without a number has that of nobody. */
static bool sees_all_users(void)
{
	cleanup_file FILE *map = fopen("/proc/self/uid_map", "re");
	unsigned first, outside, count;

	return map && fscanf(map, "%u %u %u", &first, &outside, &count) == 3 && !first &&
	       !outside && count == UINT32_MAX;
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
	door->owner = geteuid();
	door->sees_all_users = sees_all_users();
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

/*
 * The lock by which a process says that it is there belongs to the description: in ours it would
 * outlive the process.
 */
static void give_board(const struct door *door, int connection)
{
	cleanup_fd int own = shared_description(door->shared);

	hand_over(connection, "h", 1, own >= 0 ? own : door->shared->fd);
}

bool door_is_owner(const struct door *door, uid_t uid)
{
	return uid == 0 || uid == door->owner;
}

static bool knows_secret(const struct door *door, uint64_t contract, const uint64_t secret[2])
{
	const struct board *board = door->shared->board;

	return contract == CONTRACT_HASH && secret[0] == board->secret[0] &&
	       secret[1] == board->secret[1];
}

/*
 * Whether a message that has not been taken yet is one of ours: what strangers send is never
 * received, so that their descriptors do not become ours, and leaves with the connection.
 */
static bool is_message(const struct door *door, const struct guest *guest, size_t size)
{
	if (size == sizeof(guest->hello))
		return knows_secret(door, guest->hello.contract, guest->hello.secret);
	return size == sizeof(guest->request) &&
	       knows_secret(door, guest->request.contract, guest->request.secret);
}

_Static_assert(sizeof(struct arena_hello) != sizeof(struct control_request),
	       "messages are told apart by their size");

static uint32_t closings; /* that are under way */

static void *close_one(void *argument)
{
	close((int)(intptr_t)argument);
	__atomic_sub_fetch(&closings, 1, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * To close a file waits for its file system, which may be a program of whoever sent it (FUSE) that
 * never answers: only memory is closed here, all else by a thread of its own.
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

/* What came with a message: the first descriptor, or -1, and the process that sent it, or 0. */
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

/* What a visitor says. Returns its length, 0 or less if there is nothing (yet: -EAGAIN). */
static ssize_t listen_to(const struct door *door, struct visitor *visitor, struct guest *guest)
{
	char control[CMSG_SPACE(4 * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	size_t room = sizeof(*guest) - offsetof(struct guest, hello);
	struct iovec part = { .iov_base = &guest->hello, .iov_len = room };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t got =
		recv(visitor->connection, &guest->hello, room, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
	pid_t sender;

	if (got < 0)
		return -errno;
	if (!is_message(door, guest, (size_t)got) ||
	    (__atomic_load_n(&closings, __ATOMIC_ACQUIRE) >= CLOSINGS_MOST &&
	     !door_is_owner(door, visitor->uid)))
		return 0;
	got = recvmsg(visitor->connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (got < 0)
		return -errno;
	guest->memory = take_control(&message, &sender);
	if (sender && sender != visitor->pid)
		visitor->doubt = "another process sent its message than had connected";
	return got;
}

void door_crowd(struct door *door, uid_t uid, int more)
{
	uint32_t *bits = &door->shared->board->crowded;
	bool is_owner = door_is_owner(door, uid);
	uint32_t bit = is_owner ? CROWD_OF_OWNER : CROWD_OF_OTHERS;
	uint32_t crowd = __atomic_add_fetch(&door->crowd[!is_owner], more, __ATOMIC_RELAXED);

	if (crowd >= CROWD)
		__atomic_or_fetch(bits, bit, __ATOMIC_RELAXED);
	else if (crowd < CROWD / 2 && __atomic_load_n(bits, __ATOMIC_RELAXED) & bit)
		__atomic_and_fetch(bits, ~bit, __ATOMIC_RELAXED);
}

void door_attend(struct door *door, const struct guest *guest)
{
	__atomic_sub_fetch(&door->waiting_of[guest->uid % USERS], 1, __ATOMIC_RELAXED);
	door_crowd(door, guest->uid, -1);
}

uint64_t door_turned_away(struct door *door)
{
	return __atomic_exchange_n(&door->turned_away, 0, __ATOMIC_RELAXED);
}

/* Who does not wait where many do is one of too many. */
static bool is_turned_away(struct door *door, uid_t uid, uint32_t most)
{
	if (door_is_owner(door, uid) ||
	    __atomic_load_n(&door->waiting_of[uid % USERS], __ATOMIC_RELAXED) < most)
		return false;
	__atomic_add_fetch(&door->turned_away, 1, __ATOMIC_RELAXED);
	return true;
}

static void add_guest(struct door *door, struct guest *guest)
{
	__atomic_add_fetch(&door->waiting_of[guest->uid % USERS], 1, __ATOMIC_RELAXED);
	door_crowd(door, guest->uid, 1);
	*door->last = guest;
	door->last = &guest->next;
	__atomic_add_fetch(&door->guest_count, 1, __ATOMIC_RELEASE);
}

/* True if it was let in; its connection and its descriptors are then the guest's. */
static bool let_in(struct door *door, struct visitor *visitor, struct guest *guest, size_t size)
{
	guest->pid = visitor->pid;
	guest->uid = visitor->uid;
	guest->doubt = visitor->doubt;
	guest->pidfd = guest->connection = -1;
	if (guest->memory >= 0) {
		if (size != sizeof(guest->hello) || is_turned_away(door, guest->uid, GUESTS_USER))
			return false;
		guest->pidfd = visitor->pidfd;
		/* of no interest in a control request, for which the user counts */
		if (visitor->is_stranger && !guest->doubt)
			guest->doubt = "the process that has its number by now is not of the run";
		visitor->pidfd = -1;
		add_guest(door, guest);
		return true;
	}
	if (size != sizeof(guest->request))
		return false;
	if (guest->request.command == CONTROL_BOARD) {
		give_board(door, visitor->connection);
		return false;
	}
	if (is_turned_away(door, guest->uid, SAYINGS_USER))
		return false;
	/* who only says something needs no answer, and holds no descriptor of ours */
	if (guest->request.command != CONTROL_LEFT_OUT) {
		guest->connection = visitor->connection;
		visitor->connection = -1;
	}
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
	got = listen_to(door, visitor, guest);
	if (got > 0 && let_in(door, visitor, guest, (size_t)got))
		return true;
	close_foreign(guest->memory);
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

/* The same of those alone that may have to do with one of this user: a crowd of others costs it
 * nothing. */
static void hear_user(struct door *door, uid_t uid)
{
	struct visitor **at = &door->visitors;

	while (*at) {
		bool concerns = (*at)->uid == uid || door_is_owner(door, (*at)->uid);

		if (concerns && receive(door, *at))
			forget(at);
		else
			at = &(*at)->next;
	}
}

/*
 * Before Linux 6.5 the process has to be asked for by its number, which may be another one's by
 * now: whoever has the board is of the run.
 */
static void open_pidfd(const struct door *door, struct visitor *visitor)
{
	socklen_t size = sizeof(visitor->pidfd);

	if (getsockopt(visitor->connection, SOL_SOCKET, SO_PEERPIDFD, &visitor->pidfd, &size) ==
		    0 ||
	    visitor->pid <= 0)
		return;
	visitor->pidfd = (int)syscall(SYS_pidfd_open, visitor->pid, 0);
	if (visitor->pidfd >= 0 &&
	    !maps_have(visitor->pid, door->shared->device, door->shared->inode))
		visitor->is_stranger = true;
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

/*
 * Anybody may come in and say nothing: the first of too many has had his time. Each user has a
 * share, so that none keeps others out.
 */
static void make_place(struct door *door, uid_t uid)
{
	bool is_owner = door_is_owner(door, uid);
	struct visitor **first = NULL, **first_of_user = NULL;
	unsigned count = 0, count_of_user = 0;

	for (struct visitor **at = &door->visitors; *at; at = &(*at)->next) {
		if (door_is_owner(door, (*at)->uid) != is_owner)
			continue;
		first = first ? first : at;
		count++;
		if ((*at)->uid != uid)
			continue;
		first_of_user = first_of_user ? first_of_user : at;
		count_of_user++;
	}
	if (!is_owner && count_of_user >= VISITORS_USER)
		forget(first_of_user);
	else if (count >= VISITORS_MOST)
		forget(first);
}

static void add_visitor(struct door *door, struct visitor *visitor)
{
	struct visitor **at = &door->visitors;

	hear_user(door, visitor->uid);
	make_place(door, visitor->uid);
	while (*at)
		at = &(*at)->next;
	*at = visitor;
}

/* Lets the next one in. False: there is none. others: counts those who are no owners. */
static bool welcome(struct door *door, int socket, unsigned *others)
{
	int connection = socket < 0 ? -1 : accept_one(door, socket), on = 1;
	struct visitor *visitor;
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (connection < 0)
		return false;
	setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	visitor = calloc(1, sizeof(*visitor));
	if (!visitor || getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
		free(visitor);
		close(connection);
		return true;
	}
	*visitor = (struct visitor){
		.connection = connection, .pidfd = -1, .pid = peer.pid, .uid = peer.uid
	};
	*others += !door_is_owner(door, peer.uid);
	if (peer.pid <= 0)
		visitor->doubt =
			"it is in a namespace of processes that the collector does not see";
	else if (!door->sees_all_users && peer.uid == NOBODY)
		visitor->doubt = "its user has no number where the collector is";
	if (door->reserve[0] >= 0)
		open_pidfd(door, visitor);
	add_visitor(door, visitor);
	hear_user(door, peer.uid);
	watch_visitor(door, connection);
	return true;
}

/* Returns whether there may be more, who come faster than they can be let in. */
static bool serve(struct door *door)
{
	unsigned others = 0;

	pthread_mutex_lock(&door->lock);
	hear_all(door);
	while (others < OTHERS_TURN &&
	       (welcome(door, door->by_name, &others) || welcome(door, door->by_path, &others) ||
		welcome(door, door->by_guest, &others)))
		;
	if (!door->is_tight)
		take_reserve(door);
	pthread_mutex_unlock(&door->lock);
	return others >= OTHERS_TURN;
}

struct guest *door_take(struct door *door, bool *has_more)
{
	struct guest *guests;

	*has_more = serve(door);
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

void door_answer_with(struct guest *guest, const char *text, int fd)
{
	if (guest->connection >= 0)
		hand_over(guest->connection, text, strlen(text) + 1, fd);
}

void door_dismiss(struct guest *guest)
{
	close_foreign(guest->memory);
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
