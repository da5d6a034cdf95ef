/* SPDX-License-Identifier: MIT */
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "bare.h"
#include "contract.h"
#include "machine.h"
#include "preload/ground/limit.h"
#include "preload/ground/plain.h"
#include "preload/ground/sys.h"
#include "preload/record/reach.h"

#define ANSWER_MS 500 /* for a process without a board, and so without settings */
#define RETRY_NS  1000000

/* The run that the environment names: "IDSECRET:PID:FD", and BOARD_FIRST. */
struct run {
	char id[33];
	uint64_t session[2], secret[2]; /* upper half at index 1 */
	uint64_t pid, fd;
	bool is_first;
};

/* The run began with this program. */
static bool is_first;

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

/*
 * Removes BOARD_FIRST from the environment: what this program starts or executes is not the run's
 * first program.
 */
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

bool attach_is_first(void)
{
	return is_first;
}

/* ---- the board ---- */

/* Returns the descriptor that comes with a message of the collector, or -errno. */
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

/* A stopped collector does not answer, and the program must go on. */
static int receive_in_time(int socket)
{
	int fd = receive_descriptor(socket);

	for (int i = 0; fd == -EAGAIN && i < ANSWER_MS; i++) {
		sys_sleep(RETRY_NS);
		fd = receive_descriptor(socket);
	}
	return fd;
}

/*
 * Used where the collector belongs to another user or is in another namespace. Whether it is the
 * collector shows in what it sends.
 */
static int ask_board(const struct run *run)
{
	const struct control_request request = {
		.contract = CONTRACT_HASH,
		.secret = { run->secret[0], run->secret[1] },
		.command = CONTROL_BOARD,
	};
	int socket, fd;

	socket = reach_collector((uint32_t)run->pid, ANSWER_MS);
	if (socket < 0)
		return socket;
	fd = reach_say(socket, &request, sizeof(request), NULL) < 0 ? -EPIPE
								    : receive_in_time(socket);
	sys_close(socket);
	return fd;
}

/* The fast way for a process of the same user with a /proc. */
static int open_board(const struct run *run)
{
	char path[64];

	reach_path(path, run->pid, run->fd);
	return sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

static bool is_of_run(const struct board *board, const struct run *run)
{
	return board->magic == BOARD_MAGIC && board->contract == CONTRACT_HASH &&
	       board->session[0] == run->session[0] && board->session[1] == run->session[1] &&
	       board->secret[0] == run->secret[0] && board->secret[1] == run->secret[1];
}

/* An emulated program in a native run (qemu-user) reads another counter than the others. */
static bool can_join(const struct board *board)
{
	return __atomic_load_n(&board->state, __ATOMIC_ACQUIRE) == BOARD_RUNNING &&
	       (board->machine == MACHINE_OWN || board->clock == BOARD_CLOCK_MONOTONIC);
}

/* The collector seals the board before any process can open it. Only memfds can have seals. */
static bool is_sealed(int fd)
{
	const long wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
	long seals = sys_call3(__NR_fcntl, fd, F_GET_SEALS, 0);

	return seals >= 0 && (seals & wanted) == wanted;
}

/*
 * Whether the file can be a board: it cannot be truncated or written any more. Remembers its owner.
 * The board says where libc's functions are, so no plain file is accepted, whoever owns it.
 */
static bool check_file(int fd)
{
	struct statx file = { 0 };

	if (!is_sealed(fd) ||
	    sys_call5(__NR_statx, fd, (long)"", AT_EMPTY_PATH, STATX_BASIC_STATS, (long)&file) ||
	    file.stx_size < sizeof(struct board))
		return false;
	reach_owner(file.stx_uid);
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

	reach_name(run->id);
	if (fd == -EMFILE)
		return fd;
	*board = join_by(fd, run);
	if (*board)
		return 0;
	fd = ask_board(run);
	if (fd >= 0)
		*board = join_by(fd, run);
	return fd < 0 ? fd : 0;
}

/* Tries again with a higher RLIMIT_NOFILE if the process has no free descriptor. */
static const struct board *join_anyway(const struct run *run)
{
	struct rlimit descriptors;
	const struct board *board = NULL;
	int status = join(run, &board);

	if (status != -EMFILE)
		return board;
	limit_lift(RLIMIT_NOFILE, &descriptors);
	join(run, &board);
	limit_restore(RLIMIT_NOFILE, &descriptors);
	return board;
}

static const struct board *make(char **environment, const char *name)
{
	struct rlimit descriptors;
	const struct board *board;

	limit_lift(RLIMIT_NOFILE, &descriptors);
	board = bare_start(environment, name);
	limit_restore(RLIMIT_NOFILE, &descriptors);
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
		is_first = run.is_first;
		return join_anyway(&run);
	}
	is_first = true;
	return make(environment, name);
}
