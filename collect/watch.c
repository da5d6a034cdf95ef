/* SPDX-License-Identifier: MIT */
#include "collect/watch.h"

#include <dirent.h>
#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/ticks.h"
#include "process/maps.h"
#include "process/proc.h"
#include "process/program.h"

#define LIBRARY "libholdtrace.so"

const char *const untraced_words[] = {
#define UNTRACED(name, word, sentence) word,
#include "base/untraced.def"
#undef UNTRACED
};

static bool gains_rights(int32_t pid)
{
	cleanup_fd int fd = proc_open(pid, 0, "auxv");
	unsigned long pair[2] = { 0 };

	while (fd >= 0 && read(fd, pair, sizeof(pair)) == (ssize_t)sizeof(pair))
		if (pair[0] == AT_SECURE)
			return pair[1];
	return false;
}

/* Returns why the program file of a process cannot be traced, or UNTRACED_UNKNOWN. */
static enum untraced look_at_file(int32_t pid)
{
	cleanup_fd int fd = proc_open(pid, 0, "exe");
	Elf64_Phdr headers[PROGRAM_HEADERS_MAX];
	Elf64_Ehdr header;
	unsigned count;

	if (fd < 0 || pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG))
		return UNTRACED_UNKNOWN;
	if (header.e_ident[EI_CLASS] == ELFCLASS32)
		return UNTRACED_NARROW;
	count = program_headers(fd, &header, headers);
	if (!count)
		return UNTRACED_UNKNOWN;
	for (unsigned i = 0; i < count; i++) {
		char name[PATH_MAX] = "";

		if (headers[i].p_type != PT_INTERP)
			continue;
		return pread(fd, name, sizeof(name) - 1, (off_t)headers[i].p_offset) > 0 &&
				       strstr(name, "ld-musl")
			       ? UNTRACED_MUSL
		       : program_sanitizer(fd, &header) ? UNTRACED_SANITIZER
							: UNTRACED_UNKNOWN;
	}
	return UNTRACED_STATIC;
}

/* Finds the library's path in a value of LD_PRELOAD. Spaces and colons separate the paths in it. */
static bool find_library(char *entry, char **path)
{
	char *rest = NULL;

	for (char *part = strtok_r(entry, ": ", &rest); part; part = strtok_r(NULL, ": ", &rest))
		if (strstr(part, LIBRARY)) {
			*path = part;
			return true;
		}
	return false;
}

static enum untraced look_at_environment(int32_t pid)
{
	static const char name[] = "LD_PRELOAD=";
	char path[64], inside[PATH_MAX];
	cleanup_file FILE *file = NULL;
	cleanup_free char *entry = NULL;
	size_t room = 0;
	char *library;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return UNTRACED_UNKNOWN;
	while (getdelim(&entry, &room, '\0', file) > 0) {
		if (strncmp(entry, name, sizeof(name) - 1) != 0)
			continue;
		if (program_names_sanitizer(entry))
			return UNTRACED_SANITIZER;
		if (!find_library(entry + sizeof(name) - 1, &library))
			continue;
		snprintf(inside, sizeof(inside), "/proc/%d/root%s", (int)pid, library);
		/* the loader searches for or expands other names, so their file is unknown */
		return *library == '/' && !strchr(library, '$') && access(inside, R_OK)
			       ? UNTRACED_HIDDEN
			       : UNTRACED_GIVEN;
	}
	return ferror(file) ? UNTRACED_UNKNOWN : UNTRACED_DROPPED;
}

#define LOOK_NS 1000000000u /* time between two checks of a process's mappings */
/* time limit for a program to attach after an exec */
#define MISSED_NS 1000000000u

#define SEARCH_NS 20000000u /* time limit of one call of find_foreign() */
#define NOT_YET	  (-1)

/*
 * Finds a process of the run that has this pid in another pid namespace. Returns its pid in the
 * collector's namespace, 0 if there is none, or NOT_YET if the next call must continue the search.
 */
static int32_t find_foreign(struct watch *watch, int32_t pid, const struct shared *shared)
{
	DIR *directory = opendir("/proc");
	uint64_t until = ticks_clock_ns() + SEARCH_NS;
	const struct dirent *entry = NULL;
	int32_t found = 0;

	if (!directory)
		return 0;
	if (watch->search_at)
		seekdir(directory, watch->search_at);
	while (!found && (entry = readdir(directory)) != NULL) {
		int32_t candidate = (int32_t)strtol(entry->d_name, NULL, 10);

		if (candidate > 0 && proc_own_number(candidate, 0) == pid &&
		    maps_have(candidate, shared->device, shared->inode) > 0)
			found = candidate;
		else if (ticks_clock_ns() > until)
			found = NOT_YET;
	}
	watch->search_at = found == NOT_YET ? telldir(directory) : 0;
	closedir(directory);
	return found;
}

int watch_open(int32_t pid)
{
	/* the kernel sets FD_CLOEXEC on a pidfd */
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

#define EXITING 4u /* the kernel's PF_EXITING, a bit of the flags in /proc/PID/stat */

/* Reads the state of a process's first thread. Returns false if there is no such process. */
static bool read_stat(int32_t pid, char *state, int *code, unsigned *flags)
{
	char text[PROC_STAT_SIZE];
	const char *fields = proc_stat(pid, 0, text), *last;

	if (!fields)
		return false;
	*state = fields[0];
	if (sscanf(fields, "%*c %*d %*d %*d %*d %*d %u", flags) != 1)
		*flags = 0;
	/* exit_code is the last field, the 52nd */
	last = strrchr(fields, ' ');
	*code = last ? (int)strtol(last + 1, NULL, 10) : 0;
	return true;
}

/* Returns when a process started, in ticks since boot, or 0 if there is no such process. */
static uint64_t read_start(int32_t pid)
{
	enum { STARTTIME = 22 };
	char text[PROC_STAT_SIZE];
	const char *field = proc_field(proc_stat(pid, 0, text), STARTTIME);

	return field ? strtoull(field, NULL, 10) : 0;
}

/* Whether the process has ended, and its parent has not waited for it yet: it has no mappings. */
static bool is_zombie(int32_t pid)
{
	char text[PROC_STAT_SIZE];
	const char *state = proc_stat(pid, 0, text);

	return state && (*state == 'Z' || *state == 'X');
}

/*
 * Finds the process for a pid that only the process itself has reported. If the process is in
 * another pid namespace, an unrelated process may have this pid in the collector's namespace; pid
 * 1, for example, is init there. A process of the run is recognised by its mapping of the control
 * page. If the collector has no permission to read the mappings, it compares ages: a process of the
 * run is not older than the run.
 */
static void find_out(struct watch *watch, const struct shared *shared,
		     const struct watch_start *start, bool may_search)
{
	int mapped = maps_have(start->pid, shared->device, shared->inode);
	int32_t found = mapped > 0 || !may_search ? 0 : find_foreign(watch, start->pid, shared);

	if (mapped > 0)
		return;
	/* only the first process of a run can be older than the collector */
	if (found <= 0 && !start->foreign &&
	    (start->pid == shared->control->starter ||
	     read_start(start->pid) >= read_start(getpid())) &&
	    (mapped < 0 || is_zombie(start->pid)))
		return;
	watch->foreign = true;
	watch->our_pid = found > 0 ? found : 0;
}

void watch_begin(struct watch *watch, const struct shared *shared, const struct watch_start *start,
		 bool may_search)
{
	memset(watch, 0, sizeof(*watch));
	watch->pid = start->pid;
	watch->our_pid = start->our_pid ? start->our_pid : start->pid;
	watch->foreign = watch->our_pid != start->pid;
	watch->pidfd = start->pidfd;
	if (watch->pidfd >= 0)
		return;
	if (!start->our_pid)
		find_out(watch, shared, start, may_search);
	if (watch->our_pid)
		watch->pidfd = watch_open(watch->our_pid);
}

/* From linux/pidfd.h of Linux 6.15. The kernel sets exit_code when the process is reaped. */
struct pidfd_info_64 {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};

#define PIDFD_INFO_EXIT_BIT (1u << 3)
#define PIDFD_GET_INFO_64   _IOWR(0xFF, 11, struct pidfd_info_64)

_Static_assert(sizeof(struct pidfd_info_64) == 64,
	       "the size differs from the kernel's first version of the struct");

static bool reaped_code(int pidfd, int *code)
{
	struct pidfd_info_64 info = { .mask = PIDFD_INFO_EXIT_BIT };

	if (pidfd < 0 || ioctl(pidfd, PIDFD_GET_INFO_64, &info) < 0 ||
	    !(info.mask & PIDFD_INFO_EXIT_BIT))
		return false;
	*code = info.exit_code;
	return true;
}

bool watch_starves(const struct watch *watch, int32_t thread, uint64_t *ran_ns)
{
	char text[PROC_STAT_SIZE], state = 0;
	cleanup_free char *times = NULL;
	const char *fields;

	if (!watch->our_pid || watch->foreign)
		return false;
	times = proc_text(watch->our_pid, thread, "schedstat");
	if (!times || sscanf(times, "%" SCNu64, ran_ns) != 1)
		return false;
	fields = proc_stat(watch->our_pid, (int32_t)thread, text);
	state = fields ? fields[0] : 0;
	/* runs or waits for a processor (R), waits for a page (D), stopped (T), traced (t) */
	return state && strchr("RDTt", state);
}

static void set_end(struct watch *watch, bool known, int code)
{
	watch->end = WATCH_GONE;
	if (!known)
		return;
	if (WIFEXITED(code)) {
		watch->end = WATCH_EXITED;
		watch->status = WEXITSTATUS(code);
	} else if (WIFSIGNALED(code)) {
		watch->end = WATCH_KILLED;
		watch->status = WTERMSIG(code);
	}
}

void watch_learn(struct watch *watch, int status)
{
	set_end(watch, true, status);
}

bool watch_is_elsewhere(const struct watch *watch)
{
	return watch->our_pid && proc_is_elsewhere(watch->our_pid, "net") &&
	       proc_is_elsewhere(watch->our_pid, "user");
}

void watch_left_out(struct watch *watch)
{
	watch->end = WATCH_EXEC;
	watch->status = WATCH_EXEC_LEFT_OUT;
}

bool watch_has_died(const struct watch *watch)
{
	struct pollfd poller = { .fd = watch->pidfd, .events = POLLIN };

	return watch->pidfd >= 0 && poll(&poller, 1, 0) != 0;
}

/* Whether the process has ended, reaped by its parent or not. If so, sets watch->end. */
static bool is_dead(struct watch *watch)
{
	unsigned flags;
	int code = 0;
	char state;
	bool known;

	if (watch->pidfd >= 0 && !watch_has_died(watch))
		return false;
	if (reaped_code(watch->pidfd, &code)) {
		set_end(watch, true, code);
		return true;
	}
	known = read_stat(watch->our_pid, &state, &code, &flags);
	if (known && state != 'Z' && state != 'X') {
		/*
		 * Without a pidfd, the process counts as alive. A pidfd has reported the death of
		 * the process, so the living process is a new one with the same pid.
		 */
		if (watch->pidfd < 0)
			return false;
		known = false;
	}
	/* the process may have been reaped since the first call of reaped_code() */
	if (!known)
		known = reaped_code(watch->pidfd, &code);
	set_end(watch, known, code);
	return true;
}

bool watch_is_zombie(const struct watch *watch)
{
	return watch->our_pid && is_zombie(watch->our_pid);
}

bool watch_is_dead(struct watch *watch)
{
	return watch->our_pid && is_dead(watch);
}

/* Whether the process is alive, but no longer runs the image that attached. */
static bool has_left(struct watch *watch, const struct shared *shared, uint64_t now_ns)
{
	unsigned flags = 0;
	char state = 'Z';
	int code;

	/*
	 * Missing mappings prove nothing in three cases. If the first thread called pthread_exit(),
	 * it is a zombie without mappings while other threads live. A process that is ending has no
	 * mappings while the kernel frees its memory. A process that was stopped, by a signal or a
	 * debugger, may be at the first instruction of a new image that has not attached yet.
	 */
	if (maps_have(watch->our_pid, shared->device, shared->inode) ||
	    !read_stat(watch->our_pid, &state, &code, &flags) || strchr("ZTt", state) ||
	    flags & EXITING) {
		watch->missed_ns = 0;
		return false;
	}
	if (!watch->missed_ns)
		watch->missed_ns = now_ns;
	if (now_ns - watch->missed_ns < MISSED_NS)
		return false;
	watch->end = WATCH_EXEC;
	watch->status = WATCH_EXEC_UNTRACED;
	watch->why = look_at_file(watch->our_pid);
	if (watch->why == UNTRACED_UNKNOWN && gains_rights(watch->our_pid))
		watch->why = UNTRACED_RIGHTS;
	if (watch->why == UNTRACED_UNKNOWN)
		watch->why = look_at_environment(watch->our_pid);
	return true;
}

bool watch_has_ended(struct watch *watch, const struct shared *shared, uint64_t now_ns,
		     bool closely)
{
	if (!watch->our_pid) {
		if (!closely || now_ns < watch->next_ns)
			return false;
		watch->next_ns = now_ns + LOOK_NS;
		watch->our_pid = find_foreign(watch, watch->pid, shared);
		if (watch->our_pid == NOT_YET) {
			watch->our_pid = 0;
			return false;
		}
		if (!watch->our_pid) {
			watch->end = WATCH_GONE;
			return true;
		}
		watch->pidfd = watch_open(watch->our_pid);
	}
	if (is_dead(watch))
		return true;
	if (!closely || (now_ns < watch->next_ns && !watch->missed_ns))
		return false;
	watch->next_ns = now_ns + LOOK_NS;
	return has_left(watch, shared, now_ns);
}

void watch_stop(struct watch *watch)
{
	if (watch->pidfd >= 0)
		close(watch->pidfd);
	watch->pidfd = -1;
}
