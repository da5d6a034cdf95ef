/* SPDX-License-Identifier: MIT */
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/stat.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "contract.h"
#include "machine.h"
#include "places.h"
#include "preload/ground/clock.h"
#include "preload/ground/self.h"
#include "preload/ground/loader.h"
#include "preload/ground/plain.h"
#include "preload/ground/sys.h"
#include "preload/record/reach.h"

#define ENVIRONMENT_MAX 2048
#define START_SECONDS	10
/* maximum wait for the control page, which contains --patience */
#define ANSWER_MS 500
#define RETRY_NS  1000000

/* The run that an environment variable names: "IDSECRET:PID:FD" and, perhaps, CONTROL_FIRST. */
struct run {
	char id[33];
	uint64_t session[2], secret[2]; /* the upper half is at index 1 */
	uint64_t pid, fd;
	bool is_first;
};

/* Whether the run began with this program. */
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
 * Parses the environment variable that names the run. Removes CONTROL_FIRST from it, because
 * programs that this program starts or executes are not the run's first program.
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

/*
 * Asks the collector for the control page. Used if the collector runs as another user or in another
 * namespace. The page contains the run's secret, which proves that the collector sent it.
 */
static int ask_control(const struct run *run)
{
	const struct control_request request = {
		.contract = CONTRACT_HASH,
		.secret = { run->secret[0], run->secret[1] },
		.command = CONTROL_CONTROL,
	};
	uint64_t begun;
	int socket, fd;

	socket = reach_collector((uint32_t)run->pid, ANSWER_MS);
	if (socket < 0)
		return socket;
	fd = reach_say(socket, &request, sizeof(request), NULL) < 0 ? -EPIPE
								    : receive_descriptor(socket);
	begun = clock_monotonic();
	/* a stopped collector does not answer, but the program must continue */
	while (fd == -EAGAIN && clock_monotonic() - begun < ANSWER_MS * 1000000ull) {
		sys_sleep(RETRY_NS);
		fd = receive_descriptor(socket);
	}
	sys_close(socket);
	return fd;
}

/*
 * Maps the control page read-only, with a shared flock. Returns NULL if the file cannot be a
 * control page. The collector seals the file before any process can open it, so no process can
 * truncate or change the file. The control page contains the addresses of libc's functions, so no
 * unsealed file is accepted, even the owner's.
 */
static const struct control_page *map_control(int fd)
{
	const long wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
	long seals = sys_fcntl(fd, F_GET_SEALS, 0);
	const struct control_page *control;
	struct statx file = { 0 };

	if (seals < 0 || (seals & wanted) != wanted ||
	    sys_statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &file) ||
	    file.stx_size < sizeof(*control))
		return NULL;
	reach_owner(file.stx_uid);
	control = sys_mmap(NULL, sizeof(*control), PROT_READ, MAP_SHARED, fd, 0);
	if (sys_error(control))
		return NULL;
	sys_call2(__NR_flock, fd, LOCK_SH);
	return control;
}

/*
 * Maps the control page and closes fd. Returns NULL if this process cannot take part in the run. An
 * emulated program (qemu-user) cannot take part in a native run that uses the processor's counter:
 * it would read a different counter than the native programs.
 */
static const struct control_page *join_by(int fd, const struct run *run)
{
	const struct control_page *control;

	if (fd < 0)
		return NULL;
	control = map_control(fd);
	sys_close(fd);
	if (!control ||
	    (control->magic == CONTROL_MAGIC && control->contract == CONTRACT_HASH &&
	     control->session[0] == run->session[0] && control->session[1] == run->session[1] &&
	     control->secret[0] == run->secret[0] && control->secret[1] == run->secret[1] &&
	     __atomic_load_n(&control->state, __ATOMIC_ACQUIRE) == CONTROL_RUNNING &&
	     (control->machine == MACHINE_OWN || control->clock == CONTROL_CLOCK_MONOTONIC)))
		return control;
	sys_munmap((void *)(uintptr_t)control, sizeof(*control));
	return NULL;
}

static int join_run(const struct run *run, const struct control_page **control)
{
	char path[64];
	int fd;

	/* try /proc first: faster, but possible only if the collector runs as the same user */
	reach_path(path, run->pid, run->fd);
	fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
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

/* Joins the run. If the process has no free descriptor, tries again with a higher RLIMIT_NOFILE. */
static const struct control_page *join_anyway(const struct run *run)
{
	struct rlimit descriptors;
	const struct control_page *control = NULL;
	int status = join_run(run, &control);

	if (status != -EMFILE)
		return control;
	limit_lift(RLIMIT_NOFILE, &descriptors);
	join_run(run, &control);
	limit_restore(RLIMIT_NOFILE, &descriptors);
	return control;
}

/* ---- a run that this process starts ---- */

/* Creates a control page in a new file, writable until the collector seals it; NULL: failure. */
static struct control_page *make_control(int *fd)
{
	struct control_page *control = NULL;
	uint64_t random[4] = { 0 };

	*fd = sys_memfd_create(CONTROL_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return NULL;
	if (!limit_truncate(*fd, sizeof(*control)))
		control = sys_mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, *fd,
				   0);
	if (!control || sys_error(control)) {
		sys_close(*fd);
		return NULL;
	}
	sys_call3(__NR_getrandom, (long)random, sizeof(random), GRND_NONBLOCK);
	control->session[0] = random[0];
	control->session[1] = random[1];
	control->secret[0] = random[2];
	control->secret[1] = random[3];
	control->size = sizeof(*control);
	control->contract = CONTRACT_HASH;
	control->clock = counter_is_invariant() ? CONTROL_CLOCK_COUNTER : CONTROL_CLOCK_MONOTONIC;
	control->machine = MACHINE_OWN;
	control->state = CONTROL_STARTING;
	settings_default(&control->settings);
	__atomic_store_n(&control->magic, CONTROL_MAGIC, __ATOMIC_RELEASE);
	return control;
}

/* Whether the entry of an environment is a setting of holdtrace. */
static bool is_setting(const char *entry)
{
	return plain_begins(entry, "HOLDTRACE_");
}

/* Writes 32 hexadecimal digits, upper half first. */
static char *write_digits(char *at, const uint64_t number[2])
{
	for (int half = 1; half >= 0; half--)
		for (int shift = 60; shift >= 0; shift -= 4)
			*at++ = "0123456789abcdef"[number[half] >> shift & 15];
	return at;
}

/*
 * Adds the name of the run to the environment, for the programs that this program executes. The
 * array has no space for another entry, so the new entry replaces one of holdtrace's settings,
 * which are no longer needed. If the environment has no such setting, each of those programs starts
 * a run of its own.
 */
static void name_run(char **environment, const struct control_page *control, int fd)
{
	static SPARSE char text[128];
	char *at = text;

	while (*environment && !is_setting(*environment))
		environment++;
	if (!*environment)
		return;
	at += plain_copy(at, CONTROL_ENVIRONMENT "=", 32) - 1;
	at = write_digits(at, control->session);
	at = write_digits(at, control->secret);
	*at++ = ':';
	at = plain_number(at, (uint64_t)control->collector, 10);
	*at++ = ':';
	plain_number(at, (uint64_t)fd, 10);
	*environment = text;
}

/* Returns the descriptor to which the settings direct the stream, or -1. */
static int sink_of(const struct settings *settings)
{
	uint64_t fd;
	const char *end;

	if (plain_equal(settings->out, "stdout"))
		return 1;
	if (settings->out[0] != 'f' || settings->out[1] != 'd' || settings->out[2] != ':')
		return -1;
	end = plain_parse(settings->out + 3, 10, &fd);
	return *end || end == settings->out + 3 || fd > 1u << 20 ? -1 : (int)fd;
}

static bool look_at_file(const char *path, struct statx *found)
{
	return !sys_statx(AT_FDCWD, path, 0, STATX_MODE | STATX_UID, found);
}

/* Writes the path of this library's file without symbolic links. Returns its length; 0: unknown. */
static size_t find_own_file(char *path)
{
	struct loaded found;
	char name[40] = "/proc/self/fd/";
	long fd, length;

	if (loader_find((void *)(uintptr_t)find_own_file, &found))
		return 0;
	fd = sys_openat(AT_FDCWD, found.link_map->l_name, O_PATH | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	plain_number(name + sizeof("/proc/self/fd/") - 1, (uint64_t)fd, 10);
	length = sys_readlinkat(AT_FDCWD, name, path, PATH_MAX - 1);
	sys_close((int)fd);
	path[length > 0 ? length : 0] = 0;
	return length > 0 && path[0] == '/' ? (size_t)length : 0;
}

/*
 * Finds the collector that was built with this library: in the same directory, in the build tree,
 * or at the installed path relative to the library. A collector next to a copy of the library could
 * have been put there by any user. So the collector's file must belong to root, to the library's
 * owner or to this user. Neither the file nor its directory may be writable by all users.
 */
static bool find_collector(char *path, const char *relative)
{
	struct statx library, directory, collector;
	size_t length = find_own_file(path);

	if (!length || !look_at_file(path, &library))
		return false;
	while (path[length - 1] != '/')
		length--;
	if (length + plain_length(relative) + sizeof("/holdtrace-collect") > PATH_MAX)
		return false;
	length += plain_copy(path + length, relative, PATH_MAX - length) - 1;
	if (!look_at_file(path, &directory))
		return false;
	plain_copy(path + length, "/holdtrace-collect", PATH_MAX - length);
	return look_at_file(path, &collector) && !(directory.stx_mode & S_IWOTH) &&
	       !(collector.stx_mode & S_IWOTH) &&
	       (!collector.stx_uid || collector.stx_uid == library.stx_uid ||
		collector.stx_uid == (uint32_t)sys_call0(__NR_geteuid));
}

static __attribute__((noreturn)) void become_collector(int fd, int sink, char **environment)
{
	char fd_text[24], sink_text[24];
	char *kept[ENVIRONMENT_MAX];
	char path[PATH_MAX];
	char *arguments[] = { (char *)"holdtrace-collect", fd_text, sink < 0 ? NULL : sink_text,
			      NULL };
	unsigned int n = 0;

	for (char **entry = environment; *entry && n + 1 < ENVIRONMENT_MAX; entry++)
		if (!is_setting(*entry) && !settings_value(*entry, "LD_PRELOAD"))
			kept[n++] = *entry;
	kept[n] = NULL;
	plain_number(fd_text, (uint64_t)fd, 10);
	sys_fcntl(fd, F_SETFD, 0);
	if (sink >= 0) {
		plain_number(sink_text, (uint64_t)sink, 10);
		sys_fcntl(sink, F_SETFD, 0);
	}
	if (find_collector(path, ".") || find_collector(path, LIBRARY_TO_PARTS))
		sys_execve(path, arguments, kept);
	sys_exit_group(127);
}

/*
 * Creates a child process without an exit signal, so that the program's wait() does not return it
 * and no SIGCHLD is sent. qemu-user does not support this and sends a SIGCHLD. That is harmless: no
 * constructor of the program has run yet, so the program has no handler.
 */
static int quiet_child(void)
{
	int child = sys_clone(0);

	return child == -EINVAL ? sys_clone(SIGCHLD) : child;
}

/*
 * Starts the collector in a grandchild. The child ends immediately, so the collector is not a child
 * of the program. All signals are blocked in the meantime, so that no handler of the program runs
 * there.
 */
static bool start_collector(int fd, int sink, char **environment)
{
	uint64_t all = ~0ull, old;
	int child, status = 0;

	sys_rt_sigprocmask(SIG_BLOCK, &all, &old);
	child = quiet_child();
	if (!child) {
		sys_call0(__NR_setsid);
		child = quiet_child();
		if (!child)
			become_collector(fd, sink, environment);
		sys_exit_group(child < 0);
	}
	if (child > 0)
		while (sys_call4(__NR_wait4, child, (long)&status, __WALL, 0) == -EINTR)
			;
	sys_rt_sigprocmask(SIG_SETMASK, &old, NULL);
	return child > 0 && !status;
}

/* Waits until the collector has created the output. Returns false if the collector fails. */
static bool wait_for_collector(struct control_page *control)
{
	const struct timespec step = { .tv_nsec = 100000000 };

	for (int i = 0; i < START_SECONDS * 10; i++) {
		uint32_t state = __atomic_load_n(&control->state, __ATOMIC_ACQUIRE);

		if (state != CONTROL_STARTING)
			return state == CONTROL_RUNNING;
		sys_futex_wait(&control->state, CONTROL_STARTING, &step, 1);
	}
	return false;
}

static bool start_run(struct control_page *control, int fd, char **environment, const char *name)
{
	int sink;

	for (char **entry = environment; *entry; entry++)
		settings_take(&control->settings, *entry);
	settings_finish(&control->settings);
	sink = sink_of(&control->settings);
	control->starter = sys_getpid();
	plain_copy(control->starter_name, name, sizeof(control->starter_name));
	if (!start_collector(fd, sink, environment) || !wait_for_collector(control))
		return false;
	name_run(environment, control, fd);
	/* the collector writes packets to descriptor 1; our own output goes to standard error */
	if (sink == 1 && sys_dup3(2, 1, 0) < 0) {
		int null = sys_openat(AT_FDCWD, "/dev/null", O_WRONLY | O_CLOEXEC, 0);

		sys_dup3(null, 1, 0);
		sys_close(null);
	}
	return true;
}

/* Maps the control page read-only, like every other process of the run. Closes fd. */
static const struct control_page *take_control(const struct control_page *made, int fd)
{
	char path[32], id[33];
	int own;

	*write_digits(id, made->session) = 0;
	reach_name(id);
	plain_number(path + plain_copy(path, "/proc/self/fd/", 16) - 1, (uint64_t)fd, 10);
	own = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (own >= 0)
		sys_close(fd);
	else
		own = fd;
	made = map_control(own);
	sys_close(own);
	return made;
}

/*
 * Used if the program was not started by the launcher: creates the control page and starts the
 * collector. Leaves no child, descriptor or signal in the traced program. Returns NULL if the
 * process is not traced.
 */
static const struct control_page *begin_run(char **environment, const char *name)
{
	static const char text[] =
		"holdtrace: not tracing: this process adopts orphans (it is pid 1 "
		"or a subreaper); start the program with `holdtrace PROGRAM`\n";
	const struct control_page *shared = NULL;
	struct control_page *control;
	int fd, subreaper = 0;

	/*
	 * if orphans become children of this process, the program's wait() would return the
	 * collector; report this here, because no other process can
	 */
	sys_prctl(PR_GET_CHILD_SUBREAPER, (unsigned long)&subreaper, 0, 0, 0);
	if (subreaper || sys_getpid() == 1) {
		sys_call3(__NR_write, 2, (long)text, sizeof(text) - 1);
		return NULL;
	}
	control = make_control(&fd);
	if (!control)
		return NULL;
	if (start_run(control, fd, environment, name))
		shared = take_control(control, fd);
	else
		sys_close(fd);
	sys_munmap(control, sizeof(*control));
	return shared;
}

const struct control_page *attach_control(char **environment, const char *name)
{
	const struct control_page *control;
	struct rlimit descriptors;
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
	limit_lift(RLIMIT_NOFILE, &descriptors);
	control = begin_run(environment, name);
	limit_restore(RLIMIT_NOFILE, &descriptors);
	return control;
}
