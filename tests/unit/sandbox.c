/* SPDX-License-Identifier: MIT */
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/resource_limits.h"
#include "base/sanitized.h"
#include "tests/lib/tap.h"

/* Actions that a child in a sandbox attempts. Each function returns true if its action succeeds. */

static char directory[] = "/tmp/holdtrace-sandbox-XXXXXX";
static char existing[64], made[64];

static bool executes(void)
{
	execl("/bin/true", "true", (char *)NULL);
	return false; /* after a successful exec, the child would have ended with status 0 */
}

static bool forks(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static bool traces(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

static bool kills(void)
{
	return kill(getppid(), 0) == 0;
}

static bool makes_ring(void)
{
	char parameters[120] = { 0 };

	return syscall(SYS_io_uring_setup, 4, parameters) >= 0;
}

static bool loads_bpf(void)
{
	/* a map with one element, which any user could create in older kernels */
	struct {
		unsigned type, key, value, entries, rest[20];
	} map = { 2, 4, 4, 1, { 0 } };

	return syscall(SYS_bpf, 0, &map, sizeof(map)) >= 0;
}

static bool connects(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0;
}

static bool writes_existing(void)
{
	return open(existing, O_WRONLY) >= 0;
}

static bool makes_file(void)
{
	return open(made, O_WRONLY | O_CREAT, 0600) >= 0;
}

static bool removes(void)
{
	return unlink(existing) == 0;
}

static bool opens_many(void)
{
	int fd = -1;

	for (int i = 0; i < 2 * SANDBOX_FILES_MAX; i++)
		fd = dup(0);
	return fd >= 0;
}

static bool reads(void)
{
	return open(existing, O_RDONLY) >= 0;
}

static bool opens_nothing(void)
{
	return open("/dev/null", O_RDWR) >= 0;
}

static bool unpacks(void)
{
	int fd = memfd_create("unpacked", MFD_CLOEXEC);

	return fd >= 0 && write(fd, "text", 4) == 4;
}

static bool grows(void)
{
	int fd = memfd_create("long", MFD_CLOEXEC);

	return fd >= 0 && pwrite(fd, "text", 4, 1 << 30) == 4;
}

#define LIMIT_OF_FILE (1ull << 30)

/* Whether a write before the limit succeeds and a write at the limit fails. */
static bool grows_to_limit(void)
{
	int fd = memfd_create("long", MFD_CLOEXEC);

	signal(SIGXFSZ, SIG_IGN);
	return fd >= 0 && pwrite(fd, "text", 4, LIMIT_OF_FILE - 4) == 4 &&
	       pwrite(fd, "text", 4, LIMIT_OF_FILE) < 0 && errno == EFBIG;
}

static void *nothing(void *argument)
{
	return argument;
}

static bool threads(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

/* Whether a child with this sandbox (NULL: none) succeeds with the action. */
static bool can(bool (*try)(void), const struct sandbox_options *options)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		if (options)
			sandbox_enter(options);
		_exit(try() ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const struct {
	bool (*try)(void);
	enum sandbox_wall wall;
	const char *what;
} tries[] = {
	{ executes, SANDBOX_CALLS, "no program is executed" },
	{ forks, SANDBOX_CALLS, "no child is made" },
	{ traces, SANDBOX_CALLS, "nobody is traced" },
	{ kills, SANDBOX_CALLS, "nobody gets a signal" },
	{ makes_ring, SANDBOX_CALLS, "there is no io_uring" },
	{ loads_bpf, SANDBOX_CALLS, "there is no bpf" },
	{ connects, SANDBOX_CALLS, "there are no sockets" },
	{ writes_existing, SANDBOX_FILES, "no file is opened for writing" },
	{ makes_file, SANDBOX_FILES, "no file is made" },
	{ removes, SANDBOX_FILES, "no file is removed" },
	{ opens_many, SANDBOX_LIMITS, "descriptors are few" },
};

static void test_refused(unsigned walls)
{
	const struct sandbox_options none = { 0 };

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		if (!(walls & tries[i].wall))
			printf("ok %d - %s # SKIP not here\n", ++tap_number, tries[i].what);
		else
			ok(!can(tries[i].try, &none), tries[i].what);
	}
}

#define LOAD(what)		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, what))
#define IS(value, yes, no)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define UNKNOWN			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)
#define KNOWN			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LANDLOCK_CREATE_RULESET 444 /* the same number on all processors */

/* From now on, this process's system calls for one wall fail, as in a kernel that lacks them. */
static bool forget(enum sandbox_wall wall)
{
	static struct sock_filter landlock[] = { LOAD(nr), IS(LANDLOCK_CREATE_RULESET, 0, 1),
						 UNKNOWN, KNOWN };
	static struct sock_filter calls[] = {
		LOAD(nr),      IS(SYS_seccomp, 3, 0),	 IS(SYS_prctl, 0, 3),
		LOAD(args[0]), IS(PR_SET_SECCOMP, 0, 1), UNKNOWN,
		KNOWN
	};
	struct sock_fprog without_files = { sizeof(landlock) / sizeof(landlock[0]), landlock };
	struct sock_fprog without_calls = { sizeof(calls) / sizeof(calls[0]), calls };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
		      wall == SANDBOX_FILES ? &without_files : &without_calls);
}

/* Whether a child without one wall reports the missing wall, and all other walls work. */
static bool holds_without(enum sandbox_wall missing, unsigned walls)
{
	const struct sandbox_options none = { 0 };
	pid_t pid = fork();
	int status = 0;
	bool holds;

	if (pid == 0) {
		walls &= ~(unsigned)missing;
		holds = forget(missing) && sandbox_probe() == walls;
		for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
			if (walls & tries[i].wall)
				holds &= !can(tries[i].try, &none);
		_exit(holds ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_missing(unsigned walls)
{
	static const struct {
		enum sandbox_wall wall;
		const char *what;
	} missing[] = {
		{ SANDBOX_FILES, "a kernel without Landlock is told, and the other walls hold" },
		{ SANDBOX_CALLS, "a kernel without seccomp is told, and the other walls hold" },
	};

	for (size_t i = 0; i < 2; i++) {
		if (walls & SANDBOX_CALLS)
			ok(holds_without(missing[i].wall, walls), missing[i].what);
		else
			printf("ok %d - %s # SKIP no filters here\n", ++tap_number,
			       missing[i].what);
	}
}

static void count_lines(void *context, const char *line)
{
	*(int *)context += strstr(line, ": yes") || strstr(line, ": no: ");
}

/* Whether the limits that holdtrace-scan and holdtrace-keep set at their start are in effect. */
static bool is_bounded(void)
{
	struct rlimit memory = { 0 }, core = { 0 }, time = { 0 };

	resource_limits_begin();
	getrlimit(RLIMIT_AS, &memory);
	getrlimit(RLIMIT_CORE, &core);
	getrlimit(RLIMIT_CPU, &time);
	return (IS_SANITIZED || memory.rlim_max != RLIM_INFINITY) && !core.rlim_max &&
	       time.rlim_max != RLIM_INFINITY;
}

int main(void)
{
	const struct sandbox_options none = { 0 }, writer = { .writable = { directory } },
				     parent = { .may_start = true };
	unsigned walls = sandbox_probe();
	int lines = 0, fd;

	if (!mkdtemp(directory))
		return 99;
	snprintf(existing, sizeof(existing), "%s/existing", directory);
	snprintf(made, sizeof(made), "%s/made", directory);
	fd = open(existing, O_WRONLY | O_CREAT, 0600);
	close(fd);
	ok(walls & SANDBOX_PRIVILEGES && walls & SANDBOX_LIMITS, "what all kernels have holds");
	sandbox_describe(walls, &none, count_lines, &lines);
	ok(lines == 4, "each wall is told, whether it holds or not");
	ok(can(executes, NULL) && can(forks, NULL) && can(connects, NULL) &&
		   can(writes_existing, NULL) && can(opens_many, NULL),
	   "outside all of it can be done");
	ok(can(is_bounded, NULL),
	   "a program that is modest has limits of memory and time, and no core");
	test_refused(walls);
	test_missing(walls);
	ok(can(reads, &none), "files are read");
	if (walls & SANDBOX_FILES)
		ok(!can(reads, &(struct sandbox_options){ .opens_nothing = true }),
		   "no file is read by a process that wishes to open none");
	ok(can(unpacks, &(struct sandbox_options){ .opens_nothing = true }),
	   "a process that opens no files has files in memory");
	ok(!can(writes_existing, &(struct sandbox_options){ .opens_nothing = true }),
	   "a process that opens no files writes none");
	ok(can(opens_nothing, &none), "/dev/null is written");
	ok(can(unpacks, &none), "and unpacked in memory");
	ok(can(threads, &none), "and there may be threads");
	ok(!can(grows, &none) && can(grows, &(struct sandbox_options){ .grows_to = UINT64_MAX }),
	   "an open file can be extended without a limit if the options say so");
	ok(can(grows_to_limit, &(struct sandbox_options){ .grows_to = LIMIT_OF_FILE }),
	   "an open file can be extended up to the limit of the options, and no further");
	ok(can(makes_file, &writer) && can(writes_existing, &writer),
	   "a directory is written to if wished for");
	ok(can(forks, &parent), "and children");
	unlink(existing);
	unlink(made);
	rmdir(directory);
	return tap_end();
}
