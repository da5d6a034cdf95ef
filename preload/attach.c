/* SPDX-License-Identifier: MIT */
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "bare.h"
#include "contract.h"
#include "machine.h"
#include "plain.h"
#include "sys.h"

#define ANSWER_SECONDS 5

/* What the environment says of a run: "ID:PID:FD". */
struct run {
	char id[33];
	uint64_t session[2]; /* id, upper half first */
	uint64_t pid, fd;
};

static bool parse_run(const char *text, struct run *run)
{
	char half[17];

	for (int i = 0; i < 32; i++) {
		if (!text[i])
			return false;
		run->id[i] = text[i];
	}
	run->id[32] = 0;
	plain_copy(half, run->id, sizeof(half));
	plain_parse(half, 16, &run->session[1]);
	plain_parse(run->id + 16, 16, &run->session[0]);
	if (text[32] != ':')
		return false;
	text = plain_parse(text + 33, 10, &run->pid);
	if (*text != ':')
		return false;
	return !*plain_parse(text + 1, 10, &run->fd);
}

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
static void limit_patience(int socket)
{
	const struct timeval patience = { .tv_sec = ANSWER_SECONDS };

	sys_call5(__NR_setsockopt, socket, SOL_SOCKET, SO_RCVTIMEO, (long)&patience,
		  sizeof(patience));
	sys_call5(__NR_setsockopt, socket, SOL_SOCKET, SO_SNDTIMEO, (long)&patience,
		  sizeof(patience));
}

/* Works after chroot, setuid, and in another pid namespace. */
static int ask_socket(const struct run *run)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char *name = address.sun_path + 1;
	int socket = sys_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd;

	if (socket < 0)
		return socket;
	limit_patience(socket);
	name += plain_copy(name, ARENA_SOCKET_PREFIX, 32) - 1;
	name += plain_copy(name, run->id, 33) - 1;
	fd = sys_connect(socket, (struct sockaddr *)&address,
			 (unsigned int)(name - (char *)&address));
	if (!fd)
		fd = receive_descriptor(socket);
	sys_close(socket);
	return fd;
}

/* Works in another network namespace. */
static int ask_proc(const struct run *run)
{
	char path[64];
	char *at = path;

	at += plain_copy(at, "/proc/", 8) - 1;
	at = plain_number(at, run->pid, 10);
	at += plain_copy(at, "/fd/", 8) - 1;
	plain_number(at, run->fd, 10);
	return sys_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
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
	own = sys_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
	return own < 0 ? sys_fcntl(fd, F_DUPFD_CLOEXEC, 0) : own;
}

/* Maps size bytes: the header to be used at once, the slots reserved until they are taken. */
struct arena *attach_map(int fd, uint64_t size)
{
	int own = (int)reopen(fd);
	struct arena *arena;

	if (own < 0)
		return NULL;
	sys_flock(own, LOCK_SH);
	arena = sys_mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, own, 0);
	sys_close(own);
	if (sys_error(arena))
		return NULL;
	if (sys_mprotect(arena, (sizeof(*arena) + 0xfff) & ~0xfffull, PROT_READ | PROT_WRITE)) {
		sys_munmap(arena, size);
		return NULL;
	}
	return arena;
}

/* The size of an arena that may be mapped, 0 if this is none of ours or another build's. */
static uint64_t checked_size(int fd, const struct run *run)
{
	struct {
		uint64_t magic, contract, size, session[2];
	} head;

	_Static_assert(offsetof(struct arena, session) == 24,
		       "the head is read before it is mapped");
	if (sys_pread(fd, &head, sizeof(head), 0) != sizeof(head))
		return 0;
	if (head.magic != ARENA_MAGIC || head.contract != CONTRACT_HASH ||
	    head.session[0] != run->session[0] || head.session[1] != run->session[1])
		return 0;
	return head.size;
}

/* An emulated program of a run that is not (qemu-user) reads another counter than the others. */
static bool can_join(const struct arena *arena)
{
	return __atomic_load_n(&arena->state, __ATOMIC_ACQUIRE) == ARENA_RUNNING &&
	       (arena->machine == MACHINE_OWN || arena->clock == ARENA_CLOCK_MONOTONIC);
}

static struct arena *join(const struct run *run)
{
	int fd = ask_socket(run);
	struct arena *arena = NULL;
	uint64_t size;

	if (fd < 0)
		fd = ask_proc(run);
	if (fd < 0)
		return NULL;
	size = checked_size(fd, run);
	if (size)
		arena = attach_map(fd, size);
	sys_close(fd);
	if (arena && !can_join(arena)) {
		sys_munmap(arena, size);
		arena = NULL;
	}
	return arena;
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

static struct arena *find_or_make(char **environment, const char *name)
{
	struct run run;

	for (char **entry = environment; *entry; entry++) {
		const char *text = settings_value(*entry, ARENA_ENVIRONMENT);

		if (text)
			return parse_run(text, &run) ? join(&run) : NULL;
	}
	return bare_start(environment, name);
}

struct arena *attach_arena(char **environment, const char *name)
{
	struct rlimit descriptors;
	struct arena *arena;

	attach_no_limit(RLIMIT_NOFILE, &descriptors);
	arena = find_or_make(environment, name);
	attach_limit(RLIMIT_NOFILE, &descriptors);
	return arena;
}
