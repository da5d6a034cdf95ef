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

#define ANSWER_MS 500 /* for a process without a control page, and so without settings */
#define RETRY_NS  1000000

/* The run that the environment names: "IDSECRET:PID:FD", and CONTROL_FIRST. */
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
 * Removes CONTROL_FIRST from the environment: what this program starts or executes is not the run's
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
	run->is_first = *text == CONTROL_FIRST;
	if (run->is_first)
		*text = 0;
	return !*text;
}

bool attach_is_first(void)
{
	return is_first;
}

/* ---- the control page ---- */

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
static int ask_control(const struct run *run)
{
	const struct control_request request = {
		.contract = CONTRACT_HASH,
		.secret = { run->secret[0], run->secret[1] },
		.command = CONTROL_CONTROL,
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
static int open_control(const struct run *run)
{
	char path[64];

	reach_path(path, run->pid, run->fd);
	return sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

static bool is_of_run(const struct control_page *control, const struct run *run)
{
	return control->magic == CONTROL_MAGIC && control->contract == CONTRACT_HASH &&
	       control->session[0] == run->session[0] && control->session[1] == run->session[1] &&
	       control->secret[0] == run->secret[0] && control->secret[1] == run->secret[1];
}

/* An emulated program in a native run (qemu-user) reads another counter than the others. */
static bool can_join(const struct control_page *control)
{
	return __atomic_load_n(&control->state, __ATOMIC_ACQUIRE) == CONTROL_RUNNING &&
	       (control->machine == MACHINE_OWN || control->clock == CONTROL_CLOCK_MONOTONIC);
}

/* The collector seals the control page before any process can open it. Only memfds can have seals.
 */
static bool is_sealed(int fd)
{
	const long wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
	long seals = sys_call3(__NR_fcntl, fd, F_GET_SEALS, 0);

	return seals >= 0 && (seals & wanted) == wanted;
}

/*
 * Whether the file can be a control page: it cannot be truncated or written any more. Remembers its
 * owner. The control page says where libc's functions are, so no plain file is accepted, even the
 * owner's.
 */
static bool check_file(int fd)
{
	struct statx file = { 0 };

	if (!is_sealed(fd) ||
	    sys_call5(__NR_statx, fd, (long)"", AT_EMPTY_PATH, STATX_BASIC_STATS, (long)&file) ||
	    file.stx_size < sizeof(struct control_page))
		return false;
	reach_owner(file.stx_uid);
	return true;
}

const struct control_page *attach_map_control(int fd)
{
	const struct control_page *control;

	if (!check_file(fd))
		return NULL;
	control = sys_mmap(NULL, sizeof(*control), PROT_READ, MAP_SHARED, fd, 0);
	if (sys_error(control))
		return NULL;
	sys_flock(fd, LOCK_SH);
	return control;
}

static const struct control_page *join_by(int fd, const struct run *run)
{
	const struct control_page *control;

	if (fd < 0)
		return NULL;
	control = attach_map_control(fd);
	sys_close(fd);
	if (control && (!is_of_run(control, run) || !can_join(control))) {
		sys_munmap((void *)(uintptr_t)control, sizeof(*control));
		control = NULL;
	}
	return control;
}

static int join(const struct run *run, const struct control_page **control)
{
	int fd = open_control(run);

	reach_name(run->id);
	if (fd == -EMFILE)
		return fd;
	*control = join_by(fd, run);
	if (*control)
		return 0;
	fd = ask_control(run);
	if (fd >= 0)
		*control = join_by(fd, run);
	return fd < 0 ? fd : 0;
}

/* Tries again with a higher RLIMIT_NOFILE if the process has no free descriptor. */
static const struct control_page *join_anyway(const struct run *run)
{
	struct rlimit descriptors;
	const struct control_page *control = NULL;
	int status = join(run, &control);

	if (status != -EMFILE)
		return control;
	limit_lift(RLIMIT_NOFILE, &descriptors);
	join(run, &control);
	limit_restore(RLIMIT_NOFILE, &descriptors);
	return control;
}

static const struct control_page *make(char **environment, const char *name)
{
	struct rlimit descriptors;
	const struct control_page *control;

	limit_lift(RLIMIT_NOFILE, &descriptors);
	control = bare_start(environment, name);
	limit_restore(RLIMIT_NOFILE, &descriptors);
	return control;
}

const struct control_page *attach_control(char **environment, const char *name)
{
	struct run run;

	for (char **entry = environment; *entry; entry++) {
		const char *text = settings_value(*entry, CONTROL_ENVIRONMENT);

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
