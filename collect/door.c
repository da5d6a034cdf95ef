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

/* A connection that has not sent its message yet. The list is in the order of arrival. */
struct visitor {
	struct visitor *next;
	int connection, pidfd;
	pid_t pid;
	uid_t uid;
	const char *doubt; /* as in struct guest */
	bool is_stranger;  /* the process that now has its pid does not belong to the run */
};

#define VISITORS_MOST 256 /* connections of the owner, and of all other users together; … */
#define VISITORS_USER 64  /* … of each other user */
#define OTHERS_TURN   64  /* connections of other users that are accepted in one turn */
#define CROWD	      128 /* waiting guests and ended processes, from which on newcomers wait */
/*
 * waiting guests of a user other than the owner; users whose ids have the same remainder share it
 */
#define GUESTS_USER   512
#define SAYINGS_USER  16384
#define USERS	      256
#define CLOSINGS_MOST 8
#define EVENTS_MOST   16      /* that epoll_wait() returns at once */
#define PAUSE_NS      2000000 /* between two turns of the thread */
#define NOBODY	      65534   /* kernel/sys.c, overflowuid */
#define LIMIT_COMFORT 64      /* with fewer descriptors there are only the necessary ones */

struct door {
	struct shared *shared;
	int epoll;
	int by_name, by_path, by_guest; /* listening sockets */
	int path;			/* O_PATH descriptor of by_path */
	/* closed when no other descriptor is left, to accept a connection */
	int reserve[2];
	bool is_tight;	     /* too few descriptors for a thread */
	bool sees_all_users; /* each user has a distinct uid here */
	uid_t owner;
	uint32_t noticed, guest_count;
	pthread_mutex_t lock; /* guards all members below, and serve() */
	struct visitor *visitors;
	struct guest *first, **last;
	uint32_t waiting_of[USERS]; /* waiting guests, by uid */
	uint32_t crowd[2];	    /* of the owner, and of other users: atomic */
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
	/* abstract: the name begins with a NUL, and its length is explicit */
	int length = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s%s",
			      BOARD_SOCKET_PREFIX, session);

	return listen_on(&address,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length));
}

/*
 * Binds a socket in a directory and removes its name at once: programs reach it by our descriptor
 * in /proc. Programs of other users may connect, too, if they have the path.
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

/*
 * A new connection needs two descriptors: the connection itself and the memory that comes with it.
 */
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
 * Listens by the same abstract name in the network namespace of the process that is attached to,
 * since a socket belongs to the namespace in which it was made. Does nothing if it is our own
 * namespace, or if we may not enter it.
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
	/* a process that could enter the namespace can also return */
	while (setns(own, CLONE_NEWNET) && errno == EINTR)
		;
}

/* Opens the socket by path and starts watching, if there are descriptors enough. */
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

/*
 * Whether we are in the initial user namespace. In others, users without a mapping all have the uid
 * of nobody.
 */
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
 * Sends the control page by an open file description of its own. The flock by which a process shows
 * that it is attached belongs to the description, and a lock in ours would outlive the process.
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
 * Whether a message, which was only peeked at, is for us. Messages of strangers are never received:
 * their descriptors are not installed here, and go with the connection.
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
 * Closes a descriptor that a program sent. Closing a file may wait for its file system, which may
 * be a program (FUSE) that never answers. So only memory is closed here, and all else by a thread.
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

/*
 * Returns the first descriptor that came with a message, or -1; the sender's pid, or 0, in *sender.
 */
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
 * Receives a visitor's message. Returns its length, or 0 or less if there is none (not yet:
 * -EAGAIN).
 */
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

/* Whether the guest is refused because `most` guests of its user wait already. */
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

/* Makes the visitor a guest. True: its connection and descriptors belong to the guest now. */
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
		/* of no interest for a control request, where only the user counts */
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
	/* a program that only reports something gets no answer and holds no descriptor of ours */
	if (guest->request.command != CONTROL_LEFT_OUT) {
		guest->connection = visitor->connection;
		visitor->connection = -1;
	}
	add_guest(door, guest);
	return true;
}

/* Returns true when nothing more is expected from this visitor. */
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
	/*
	 * close() also removes it from epoll; a guest's connection was taken and is answered later
	 */
	if (visitor->connection >= 0)
		close(visitor->connection);
	if (visitor->pidfd >= 0)
		close(visitor->pidfd);
	free(visitor);
}

/*
 * In the order of arrival: a process that executes another program has sent its message before that
 * program connects.
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

/*
 * As hear_all(), but only for connections of this user and of owners, so that a crowd of other
 * users costs this one nothing.
 */
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
 * Before Linux 6.5 the pidfd has to be opened by pid, which another process may have by now: only a
 * process that maps the control page belongs to the run.
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

/* Accepts a connection. If all descriptors are in use, the reserve makes room for it. */
static int accept_one(struct door *door, int socket)
{
	int connection = accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (connection >= 0 || errno != EMFILE || door->reserve[0] < 0)
		return connection;
	give_reserve(door);
	return accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* Watches the connection if its message has not arrived yet. */
static void watch_visitor(struct door *door, int connection)
{
	for (const struct visitor *visitor = door->visitors; visitor; visitor = visitor->next)
		if (visitor->connection == connection)
			watch_socket(door, connection);
}

/*
 * Makes room for a new connection. Any program can connect and send nothing, so the oldest one has
 * to go if there are too many. Each user has a share, so that no user keeps others out.
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

/*
 * Accepts the next connection. False: there is none. others: counts connections of users other than
 * the owner.
 */
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

/* Returns whether more connections may wait, which arrive faster than they are accepted. */
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

/*
 * epoll's data for a pidfd. Not the descriptor itself, whose number may have been reused by then.
 */
#define PROCESS_ENDED UINT64_MAX

/*
 * The thread pauses after each turn. A process that connects or ends during the pause does not wake
 * the thread, which would cost a short process time; and serving several at once is cheaper.
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
	/* EPOLLONESHOT: reported once; closing the descriptor ends the watch */
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = PROCESS_ENDED };

	epoll_ctl(door->epoll, EPOLL_CTL_ADD, pidfd, &event);
}

bool door_noticed(struct door *door)
{
	return __atomic_exchange_n(&door->noticed, 0, __ATOMIC_ACQUIRE);
}

void door_close(struct door *door)
{
	/* not freed: the thread may be answering a request, and the program ends now */
	if (door->by_name >= 0)
		shutdown(door->by_name, SHUT_RDWR);
	if (door->by_path >= 0)
		shutdown(door->by_path, SHUT_RDWR);
	if (door->by_guest >= 0)
		shutdown(door->by_guest, SHUT_RDWR);
}
