/* SPDX-License-Identifier: MIT */
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "bare.h"
#include "contract.h"
#include "life.h"
#include "machine.h"
#include "preload/ground/plain.h"
#include "preload/ground/sys.h"

#define ANSWER_MS 500 /* for who has no board yet, and so no settings */
#define RETRY_NS  1000000

#define NOBODY		     65534u	 /* kernel/sys.c, overflowuid */
#define FIRST_USER_NAMESPACE 0xeffffffdu /* linux/nsfs.h, USER_NS_INIT_INO */

/* What the environment says of a run: "IDSECRET:PID:FD", and BOARD_FIRST. */
struct run {
	char id[33];
	uint64_t session[2], secret[2]; /* upper half first */
	uint64_t pid, fd;
	bool is_first;
};

/* How to find the collector; a fork's child knows it, too. */
static struct {
	char id[33];
	bool owner_is_known;
	uint32_t owner; /* user that the board belongs to, as we saw it */
	bool is_first;
} collector;

static bool parse_number(const char *text, uint64_t number[2])
{
	char half[17];

	for (int i = 0; i < 32; i++)
		if (!text[i])
			return false;
	plain_copy(half, text, sizeof(half));
	plain_parse(half, 16, &number[1]);
	plain_copy(half, text + 16, sizeof(half));
	plain_parse(half, 16, &number[0]);
	return true;
}

/* The mark is taken away: what this program starts or becomes is not the first one. */
static bool parse_run(char *text, struct run *run)
{
	if (!parse_number(text, run->session) || !parse_number(text + 32, run->secret) ||
	    text[64] != ':')
		return false;
	plain_copy(run->id, text, sizeof(run->id));
	text = (char *)(uintptr_t)plain_parse(text + 65, 10, &run->pid);
	if (*text != ':')
		return false;
	text = (char *)(uintptr_t)plain_parse(text + 1, 10, &run->fd);
	run->is_first = *text == BOARD_FIRST;
	if (run->is_first)
		*text = 0;
	return !*text;
}

/* ---- the way to the collector ---- */

static char *proc_path(char *path, uint64_t pid, uint64_t fd)
{
	char *at = path;

	at += plain_copy(at, "/proc/", 8) - 1;
	at = plain_number(at, pid, 10);
	at += plain_copy(at, "/fd/", 8) - 1;
	return plain_number(at, fd, 10);
}

/* Many programs of a run may begin at once, and the collector be slow to open. */
static int connect_in_time(int socket, const struct sockaddr_un *address, unsigned int size,
			   int64_t patience_ms)
{
	static const struct timespec step = { .tv_nsec = RETRY_NS };
	int status = sys_connect(socket, (const struct sockaddr *)address, size);

	for (int64_t i = 0; status == -EAGAIN && i < patience_ms; i++) {
		sys_nanosleep(&step, NULL);
		status = sys_connect(socket, (const struct sockaddr *)address, size);
	}
	return status;
}

/* By its abstract name; that is there after chroot, setuid, and in another pid namespace. */
static int connect_by_name(int socket, int64_t patience_ms)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char *name = address.sun_path + 1;

	name += plain_copy(name, BOARD_SOCKET_PREFIX, 32) - 1;
	name += plain_copy(name, collector.id, sizeof(collector.id)) - 1;
	return connect_in_time(socket, &address, (unsigned int)(name - (char *)&address),
			       patience_ms);
}

/* By a descriptor of its own: in another network namespace, too, but only with a /proc. */
static int connect_by_path(int socket, int64_t patience_ms)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (!life.board || life.board->door < 0)
		return -ECONNREFUSED;
	proc_path(address.sun_path, (uint64_t)life.board->collector, (uint64_t)life.board->door);
	return connect_in_time(socket, &address, sizeof(address), patience_ms);
}

/* Whether user ids may mean others here than where the run began (user_namespaces(7)). */
static bool in_user_namespace(void)
{
	struct statx space;

	return !sys_call5(__NR_statx, AT_FDCWD, (long)"/proc/self/ns/user", 0, STATX_INO,
			  (long)&space) &&
	       space.stx_ino != FIRST_USER_NAMESPACE;
}

/*
 * When the collector has died anybody may take its name. A process that we cannot see has number 0,
 * a user whom nobody maps the number of nobody.
 */
static bool is_collector(int socket, uint32_t pid)
{
	struct ucred peer = { 0 };
	unsigned int size = sizeof(peer);

	if (sys_getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) ||
	    (peer.pid && (uint32_t)peer.pid != pid))
		return false;
	return !collector.owner_is_known || peer.uid == collector.owner ||
	       (peer.uid == NOBODY && in_user_namespace());
}

/* A socket that leads to the collector, or -errno. */
static int connect_collector(uint32_t pid, int64_t patience_ms)
{
	int socket = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int status;

	if (socket < 0)
		return socket;
	status = connect_by_name(socket, patience_ms);
	if (status == -ECONNREFUSED)
		status = connect_by_path(socket, patience_ms);
	if (!status && !is_collector(socket, pid))
		status = -EPERM;
	if (!status)
		return socket;
	sys_close(socket);
	return status;
}

static long say(int socket, const void *data, size_t size, const int *fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { (void *)(uintptr_t)data, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		*(int *)(void *)CMSG_DATA(&control.header) = *fd;
	}
	return sys_sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int attach_hand_over(int memory, const struct arena_hello *hello)
{
	int socket =
		connect_collector((uint32_t)life.board->collector, life.board->settings.patience);
	long sent;

	if (socket < 0)
		return socket;
	sent = say(socket, hello, sizeof(*hello), &memory);
	sys_close(socket);
	return sent < 0 ? (int)sent : 0;
}

void attach_leave_out(const char *name)
{
	struct control_request request = {
		.contract = CONTRACT_HASH,
		.secret = { life.board->secret[0], life.board->secret[1] },
		.command = CONTROL_LEFT_OUT,
	};
	int socket =
		connect_collector((uint32_t)life.board->collector, life.board->settings.patience);

	if (socket < 0)
		return;
	plain_copy(request.text, name, sizeof(request.text));
	say(socket, &request, sizeof(request), NULL);
	sys_close(socket);
}

bool attach_is_first(void)
{
	return collector.is_first;
}

/* ---- the board ---- */

/* The descriptor that comes with a message of the collector, or -errno. */
static int receive_descriptor(int socket)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec data = { &byte, 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	long got = sys_recvmsg(socket, &message, MSG_CMSG_CLOEXEC);

	if (got < 0)
		return (int)got;
	if (message.msg_controllen < CMSG_LEN(sizeof(int)) ||
	    control.header.cmsg_type != SCM_RIGHTS)
		return -EPROTO;
	return *(int *)(void *)CMSG_DATA(&control.header);
}

/* A collector that is stopped answers nobody, and the host must go on. */
static int receive_in_time(int socket)
{
	static const struct timespec step = { .tv_nsec = RETRY_NS };
	int fd = receive_descriptor(socket);

	for (int i = 0; fd == -EAGAIN && i < ANSWER_MS; i++) {
		sys_nanosleep(&step, NULL);
		fd = receive_descriptor(socket);
	}
	return fd;
}

/* Whom we ask is another user's or in another namespace: what it is shows in what it sends. */
static int ask_board(const struct run *run)
{
	const struct control_request request = {
		.contract = CONTRACT_HASH,
		.secret = { run->secret[0], run->secret[1] },
		.command = CONTROL_BOARD,
	};
	int socket, fd;

	socket = connect_collector((uint32_t)run->pid, ANSWER_MS);
	if (socket < 0)
		return socket;
	fd = say(socket, &request, sizeof(request), NULL) < 0 ? -EPIPE : receive_in_time(socket);
	sys_close(socket);
	return fd;
}

/* Of our own user, and with a /proc: this is quick. */
static int open_board(const struct run *run)
{
	char path[64];

	proc_path(path, run->pid, run->fd);
	return sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

/*
 * The same memory through a description of its own, since a flock belongs to the description: it
 * stays as long as the mapping does.
 */
static int reopen(int fd)
{
	char path[32];
	int own;

	plain_number(path + plain_copy(path, "/proc/self/fd/", 16) - 1, (uint64_t)fd, 10);
	own = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (own < 0)
		return fd;
	sys_close(fd);
	return own;
}

static bool is_of_run(const struct board *board, const struct run *run)
{
	return board->magic == BOARD_MAGIC && board->contract == CONTRACT_HASH &&
	       board->session[0] == run->session[0] && board->session[1] == run->session[1] &&
	       board->secret[0] == run->secret[0] && board->secret[1] == run->secret[1];
}

/* An emulated program of a run that is not (qemu-user) reads another counter than the others. */
static bool can_join(const struct board *board)
{
	return __atomic_load_n(&board->state, __ATOMIC_ACQUIRE) == BOARD_RUNNING &&
	       (board->machine == MACHINE_OWN || board->clock == BOARD_CLOCK_MONOTONIC);
}

/* Whether it can be a board; and whose. */
static bool check_file(int fd)
{
	struct statx file = { 0 };

	if (sys_call5(__NR_statx, fd, (long)"", AT_EMPTY_PATH, STATX_BASIC_STATS, (long)&file) ||
	    (file.stx_mode & S_IFMT) != S_IFREG || file.stx_size < sizeof(struct board))
		return false;
	collector.owner = file.stx_uid;
	collector.owner_is_known = true;
	return true;
}

const struct board *attach_map_board(int fd)
{
	const struct board *board;

	if (!check_file(fd))
		return NULL;
	board = sys_mmap(NULL, sizeof(*board), PROT_READ, MAP_SHARED, fd, 0);
	if (sys_error(board))
		return NULL;
	sys_flock(fd, LOCK_SH);
	return board;
}

void attach_name_run(const char *id)
{
	plain_copy(collector.id, id, sizeof(collector.id));
}

static const struct board *join_by(int fd, const struct run *run)
{
	const struct board *board;

	if (fd < 0)
		return NULL;
	board = attach_map_board(fd);
	sys_close(fd);
	if (board && (!is_of_run(board, run) || !can_join(board))) {
		sys_munmap((void *)(uintptr_t)board, sizeof(*board));
		board = NULL;
	}
	return board;
}

static int join(const struct run *run, const struct board **board)
{
	int fd = open_board(run);

	attach_name_run(run->id);
	if (fd == -EMFILE)
		return fd;
	*board = join_by(fd, run);
	if (*board)
		return 0;
	fd = ask_board(run);
	if (fd >= 0)
		*board = join_by(reopen(fd), run);
	return fd < 0 ? fd : 0;
}

uint64_t attach_no_limit(int which, struct rlimit *before)
{
	struct rlimit most;

	if (sys_call4(__NR_prlimit64, 0, which, 0, (long)before)) {
		*before = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
		return RLIM_INFINITY;
	}
	most = (struct rlimit){ before->rlim_max, before->rlim_max };
	if (before->rlim_cur != most.rlim_cur)
		sys_call4(__NR_prlimit64, 0, which, (long)&most, 0);
	return before->rlim_max;
}

void attach_limit(int which, const struct rlimit *before)
{
	if (before->rlim_cur != before->rlim_max)
		sys_call4(__NR_prlimit64, 0, which, (long)before, 0);
}

/* Also where the process may have no more descriptors, but might allow itself some. */
static const struct board *join_anyway(const struct run *run)
{
	struct rlimit descriptors;
	const struct board *board = NULL;
	int status = join(run, &board);

	if (status != -EMFILE)
		return board;
	attach_no_limit(RLIMIT_NOFILE, &descriptors);
	join(run, &board);
	attach_limit(RLIMIT_NOFILE, &descriptors);
	return board;
}

static const struct board *make(char **environment, const char *name)
{
	struct rlimit descriptors;
	const struct board *board;

	attach_no_limit(RLIMIT_NOFILE, &descriptors);
	board = bare_start(environment, name);
	attach_limit(RLIMIT_NOFILE, &descriptors);
	return board;
}

const struct board *attach_board(char **environment, const char *name)
{
	struct run run;

	for (char **entry = environment; *entry; entry++) {
		const char *text = settings_value(*entry, BOARD_ENVIRONMENT);

		if (!text)
			continue;
		if (!parse_run((char *)(uintptr_t)text, &run))
			return NULL;
		collector.is_first = run.is_first;
		return join_anyway(&run);
	}
	collector.is_first = true;
	return make(environment, name);
}
