/* SPDX-License-Identifier: MIT */
#include "base/sandbox.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif
#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif

/* maximum size of a file if a process can write only to memfds, which contain decompressed data */
#define UNPACKED_MAX (256u << 20)

/* ---- files ---- */

#if defined(LANDLOCK_CREATE_RULESET_VERSION) && defined(SYS_landlock_create_ruleset)

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* The kernel's struct landlock_ruleset_attr; the system's headers may have an older version. */
struct ruleset {
	uint64_t files, network, scopes;
};

static int make_ruleset(const struct sandbox_options *options, uint64_t *rights)
{
	int version =
		(int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset rules;
	size_t size = version < 4 ? 8 : version < 6 ? 16 : 24;

	if (version < 1)
		return -1;
	/* Landlock 1 has 13 file rights; later versions add REFER, TRUNCATE and IOCTL_DEV */
	*rights = (UINT64_C(1) << (version < 2	 ? 13
				   : version < 3 ? 14
				   : version < 5 ? 15
						 : 16)) -
		  1;
	rules = (struct ruleset){
		.files = *rights,
		.network = 3,			      /* forbids TCP bind and connect */
		.scopes = options->may_start ? 0 : 3, /* forbids abstract sockets and signals */
	};
	return (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
}

static bool allow_directory(int ruleset, const char *directory, uint64_t rights)
{
	cleanup_fd int fd = open(directory, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = fd };

	return fd >= 0 &&
	       syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

/*
 * Restricts access to files by Landlock. A process that may open files may read all files, because
 * traces and debug files can be anywhere.
 */
static bool close_files(const struct sandbox_options *options)
{
	uint64_t rights;
	cleanup_fd int ruleset = make_ruleset(options, &rights);
	uint64_t everywhere = READ | (options->may_execute ? LANDLOCK_ACCESS_FS_EXECUTE : 0);

	if (ruleset < 0 || (!options->opens_nothing && !allow_directory(ruleset, "/", everywhere)))
		return false;
	/* the kernel refuses a rule that gives a file rights of directories */
	allow_directory(ruleset, "/dev/null",
			LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
	for (int i = 0; i < SANDBOX_WRITABLE_MAX && options->writable[i]; i++)
		allow_directory(ruleset, options->writable[i],
				rights & ~(uint64_t)LANDLOCK_ACCESS_FS_EXECUTE);
	return syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
}

#else

static bool close_files(const struct sandbox_options *options)
{
	(void)options;
	return false;
}

#endif

/* ---- system calls ---- */

#ifdef HAVE_SECCOMP

#define NAME(name) SCMP_SYS(name)

/* System calls that are always forbidden: no program that reads files needs them. */
static const int never[] = {
	NAME(ptrace),
	NAME(process_vm_readv),
	NAME(process_vm_writev),
	NAME(bpf),
	NAME(io_uring_setup),
	NAME(io_uring_enter),
	NAME(io_uring_register),
	NAME(perf_event_open),
	NAME(mount),
	NAME(umount2),
	NAME(pivot_root),
	NAME(chroot),
	NAME(unshare),
	NAME(setns),
	NAME(keyctl),
	NAME(add_key),
	NAME(request_key),
	NAME(userfaultfd),
	NAME(init_module),
	NAME(finit_module),
	NAME(delete_module),
	NAME(kexec_load),
	NAME(reboot),
	NAME(swapon),
	NAME(swapoff),
	NAME(open_by_handle_at),
	NAME(personality),
	NAME(pidfd_getfd),
};
static const int programs[] = { NAME(execve), NAME(execveat) };
static const int processes[] = { NAME(kill),
				 NAME(tkill),
				 NAME(rt_sigqueueinfo),
				 NAME(rt_tgsigqueueinfo),
				 NAME(pidfd_open),
				 NAME(pidfd_send_signal),
				 NAME(fork),
				 NAME(vfork) };
static const int network[] = { NAME(socket), NAME(connect), NAME(bind),
			       NAME(listen), NAME(accept),  NAME(accept4) };

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static int forbid_calls(scmp_filter_ctx filter, const int *calls, size_t count)
{
	int status = 0;

	/* the architecture may lack a call: adding its rule fails without harm to other rules */
	for (size_t i = 0; i < count; i++)
		if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0) == -ENOMEM)
			status = -ENOMEM;
	return status;
}

/*
 * Forbids new processes and signals to other processes. New threads, and signals to threads of this
 * process (abort() sends one), stay allowed.
 */
static int forbid_processes(scmp_filter_ctx filter)
{
	int status = forbid_calls(filter, processes, COUNT(processes));

	if (!status)
		status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), NAME(clone), 1,
					  SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
	/*
	 * the flags of clone3() are in memory, which seccomp cannot read; after ENOSYS libc uses
	 * clone()
	 */
	if (!status)
		status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), NAME(clone3), 0);
	if (!status)
		status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), NAME(tgkill), 1,
					  SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)getpid(), 0));
	return status;
}

/* Forbids opening files for writing: the substitute for Landlock where the kernel lacks it. */
static int forbid_writing(scmp_filter_ctx filter)
{
	static const int flags[] = { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC };
	static const int calls[] = { NAME(creat), NAME(openat2), NAME(truncate) };
	int status = forbid_calls(filter, calls, COUNT(calls));

	for (size_t i = 0; !status && i < COUNT(flags); i++) {
		scmp_datum_t flag = (scmp_datum_t)flags[i];

		status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), NAME(openat), 1,
					  SCMP_A2(SCMP_CMP_MASKED_EQ, flag, flag));
		/* some architectures have openat() only */
		if (!status && seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), NAME(open), 1,
						SCMP_A1(SCMP_CMP_MASKED_EQ, flag, flag)) == -ENOMEM)
			status = -ENOMEM;
	}
	return status;
}

static bool close_calls(const struct sandbox_options *options)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int status;

	if (!filter)
		return false;
	status = forbid_calls(filter, never, COUNT(never));
	if (!status)
		/*
		 * TIOCSTI fakes input to the terminal of the user who started the program
		 */
		status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), NAME(ioctl), 1,
					  SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, TIOCSTI));
	if (!status && !options->may_execute)
		status = forbid_calls(filter, programs, COUNT(programs));
	if (!status && !options->may_start)
		status = forbid_processes(filter);
	if (!status)
		status = forbid_calls(filter, network, COUNT(network));
	if (!status && options->opens_nothing)
		status = forbid_writing(filter);
	if (!status)
		status = seccomp_load(filter);
	seccomp_release(filter);
	return status == 0;
}

#else

static bool close_calls(const struct sandbox_options *options)
{
	(void)options;
	return false;
}

#endif

/* ---- limits ---- */

static bool set_limit(int which, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)which, &limit) != 0)
		return false;
	if (limit.rlim_max > most)
		limit.rlim_max = most;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	return setrlimit((__rlimit_resource_t)which, &limit) == 0;
}

/*
 * Sets the resource limits. files: whether Landlock or seccomp already forbids writing to files. If
 * so, the limit on file sizes affects only memfds.
 */
static bool limit_resources(const struct sandbox_options *options, bool files)
{
	bool done = set_limit(RLIMIT_CORE, 0);

	if (options->grows_to)
		done &= set_limit(RLIMIT_FSIZE, options->grows_to);
	else if (!options->writable[0] && !options->may_start)
		done &= set_limit(RLIMIT_FSIZE, files ? UNPACKED_MAX : 0);
	if (!options->may_start)
		done &= set_limit(RLIMIT_NOFILE, SANDBOX_FILES_MAX);
	return done;
}

unsigned sandbox_enter(const struct sandbox_options *options)
{
	unsigned walls = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		walls |= SANDBOX_PRIVILEGES;
	if (walls & SANDBOX_PRIVILEGES && close_files(options))
		walls |= SANDBOX_FILES;
	if (walls & SANDBOX_PRIVILEGES && close_calls(options))
		walls |= SANDBOX_CALLS;
	if (limit_resources(options, walls & SANDBOX_FILES ||
					     (walls & SANDBOX_CALLS && options->opens_nothing)))
		walls |= SANDBOX_LIMITS;
	return walls;
}

unsigned sandbox_probe(void)
{
	const struct sandbox_options nothing = { 0 };
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit((int)sandbox_enter(&nothing));
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) ? (unsigned)WEXITSTATUS(status) : 0;
}

/* ---- descriptions of the walls ---- */

static void describe_wall(enum sandbox_wall wall, const struct sandbox_options *options, char *line,
			  size_t size)
{
	int at;

	switch (wall) {
	case SANDBOX_PRIVILEGES:
		snprintf(line, size, "no additional privileges (no_new_privs)");
		break;
	case SANDBOX_FILES:
		at = snprintf(line, size, "%s",
			      options->opens_nothing ? "no files are opened"
						     : "files are read-only");
		for (int i = 0; i < SANDBOX_WRITABLE_MAX && options->writable[i] && at < (int)size;
		     i++)
			at += snprintf(line + at, size - (size_t)at, "%s %s",
				       i ? "," : ", except in", options->writable[i]);
		if (at < (int)size)
			snprintf(line + at, size - (size_t)at, " (Landlock)");
		break;
	case SANDBOX_CALLS:
		snprintf(line, size, "no %s%ssockets, ptrace, bpf, mounts (seccomp)",
			 options->may_execute ? "" : "programs, ",
			 options->may_start ? "" : "processes, ");
		break;
	case SANDBOX_LIMITS:
		snprintf(line, size, "%s",
			 options->may_start ? "no core file"
			 : options->writable[0] || options->grows_to == UINT64_MAX
				 ? "limits on descriptors"
				 : "limits on descriptors and file sizes");
		break;
	}
}

static const struct {
	enum sandbox_wall wall;
	const char *missing;
} walls_known[] = {
	{ SANDBOX_PRIVILEGES, "the kernel does not support no_new_privs" },
	{ SANDBOX_FILES,
	  "Landlock is not available: it needs Linux 5.13 or later and an entry in the kernel's "
	  "lsm=, and a container may forbid it" },
#ifdef HAVE_SECCOMP
	{ SANDBOX_CALLS,
	  "seccomp filters are not available: the kernel lacks them, or a container forbids them" },
#else
	{ SANDBOX_CALLS,
	  "holdtrace was built without libseccomp: install libseccomp-dev and build again" },
#endif
	{ SANDBOX_LIMITS, "limits cannot be set" },
};

void sandbox_describe(unsigned walls, const struct sandbox_options *options,
		      void (*say)(void *context, const char *line), void *context)
{
	char keeps[512], line[640];

	for (size_t i = 0; i < sizeof(walls_known) / sizeof(walls_known[0]); i++) {
		bool holds = walls & walls_known[i].wall;

		describe_wall(walls_known[i].wall, options, keeps, sizeof(keeps));
		snprintf(line, sizeof(line), "%s: %s%s", keeps,
			 holds ? "yes" : "no: ", holds ? "" : walls_known[i].missing);
		say(context, line);
	}
}
