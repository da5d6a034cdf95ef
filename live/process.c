/* SPDX-License-Identifier: MIT */
#include "live/process.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/registers.h"
#include "base/stopping.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OWN_CLASS  (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)
#define MAPS_MAX   (64u << 20)
#define STOP_TRIES 50000 /* five seconds: one that is about to stop must be let go by us */
#define STOP_NS	   100000

/* ---- files of /proc ---- */

/* The whole file, ended by NUL, to be freed; NULL: errno says why. */
static char *read_file(const char *path, size_t most)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0, room = 4096;
	char *text = fd < 0 ? NULL : malloc(room);

	while (text) {
		ssize_t got = read(fd, text + size, room - size - 1);
		char *larger;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			text[size] = 0;
			if (!got)
				return text;
			break;
		}
		size += (size_t)got;
		if (size + 1 < room)
			continue;
		room *= 2;
		larger = room > most ? NULL : realloc(text, room);
		if (!larger)
			break;
		text = larger;
	}
	free(text);
	return NULL;
}

static int refuse(int number, int pid, struct error *err)
{
	if (number == ENOENT || number == ESRCH)
		return error_set(err, ESRCH, "there is no process %d", pid);
	if (number == EACCES || number == EPERM)
		return error_set(err, EACCES,
				 "process %d may not be looked into: it is another user's, or "
				 "/proc/sys/kernel/yama/ptrace_scope is not 0; root may",
				 pid);
	return error_system(err, number, "cannot look into process %d", pid);
}

/* ---- mappings ---- */

/* One line of maps; its path is ended in place. Returns the next line, NULL: no memory. */
static char *take_mapping(struct live_process *process, char *line)
{
	size_t length = strcspn(line, "\n");
	char *next = line + length + (line[length] == '\n');
	struct live_mapping mapping, *kept;
	unsigned high, low;
	char flags[5];
	int at = 0;

	line[length] = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &mapping.start, &mapping.end, flags, &mapping.offset, &high, &low,
		   &mapping.inode, &at) < 7 ||
	    !at || line[at] != '/')
		return next;
	mapping.is_code = flags[2] == 'x';
	mapping.device = makedev(high, low);
	mapping.path = line + at;
	kept = ARRAY_ADD(&process->mappings);
	if (!kept)
		return NULL;
	*kept = mapping;
	return next;
}

/* A process whose first thread has ended shows its mappings by the others alone. */
static char *read_maps(const struct live_process *process)
{
	char path[64];
	char *maps = NULL;

	for (size_t i = 0; i < process->thread_count && (!maps || !*maps); i++) {
		free(maps);
		snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", process->pid,
			 process->threads[i].tid);
		maps = read_file(path, MAPS_MAX);
	}
	return maps;
}

static int read_mappings(struct live_process *process, struct error *err)
{
	process->maps = read_maps(process);
	if (!process->maps)
		return refuse(errno, process->pid, err);
	if (!*process->maps)
		return error_set(err, ESRCH,
				 "process %d has no memory: it has ended, or is the kernel's own",
				 process->pid);
	for (char *at = process->maps; *at;) {
		at = take_mapping(process, at);
		if (!at)
			return error_system(err, ENOMEM, "process %d", process->pid);
	}
	return 0;
}

/* What a link of /proc/PID leads to, to be freed; NULL: not known. */
static char *read_link(int pid, const char *name)
{
	char path[64], target[PATH_MAX];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	length = readlink(path, target, sizeof(target) - 1);
	return length > 0 ? strndup(target, (size_t)length) : NULL;
}

static bool is_same(int pid, const char *link)
{
	cleanup_free char *theirs = read_link(pid, link);
	cleanup_free char *ours = read_link(getpid(), link);

	return theirs && ours && !strcmp(theirs, ours);
}

static void find_root(struct live_process *process)
{
	cleanup_free char *root = read_link(process->pid, "root");

	process->has_our_numbers = is_same(process->pid, "ns/pid");
	if (root && !strcmp(root, "/") && is_same(process->pid, "ns/mnt"))
		return;
	if (asprintf(&process->root, "/proc/%d/root", process->pid) < 0)
		process->root = NULL;
}

/* ---- threads ---- */

static void copy_name(char *to, const char *from)
{
	snprintf(to, LIVE_NAME_MAX, "%.*s", (int)strcspn(from, "\n"), from);
}

static void read_name(int pid, int tid, char *name)
{
	char path[64];
	cleanup_free char *text = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	text = read_file(path, 4096);
	copy_name(name, text ? text : "");
}

/* The number behind "key:" in a file of lines, or the last one of its line; 0: there is none. */
static uint64_t number_of(const char *text, const char *key, bool last)
{
	const char *at = strstr(text, key);
	const char *blank;

	if (!at)
		return 0;
	at += strlen(key);
	at += strspn(at, ": \t");
	while (last && (blank = at + strcspn(at, "\t\n"), *blank == '\t'))
		at = blank + 1;
	return strtoull(at, NULL, 10);
}

static void read_status(int pid, struct live_thread *thread)
{
	char path[64];
	cleanup_free char *text = NULL;
	const char *state;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, thread->tid);
	text = read_file(path, 65536);
	if (!text)
		return;
	state = strstr(text, "\nState:\t");
	thread->state = state ? state[8] : '?';
	thread->own_tid = (int)number_of(text, "\nNSpid", true);
	if (!thread->own_tid)
		thread->own_tid = thread->tid;
	thread->switches = number_of(text, "\nvoluntary_ctxt_switches", false) +
			   number_of(text, "\nnonvoluntary_ctxt_switches", false);
}

/* When a thread ran last, in the scheduler's clock; 0: the kernel does not say. */
static uint64_t ran_ns(int pid, int tid)
{
	char path[64];
	cleanup_free char *text = NULL;
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/sched", pid, tid);
	text = read_file(path, 65536);
	at = text ? strstr(text, "se.exec_start") : NULL;
	at = at ? strchr(at, ':') : NULL;
	return at ? (uint64_t)(strtod(at + 1, NULL) * 1e6) : 0;
}

/* The system call that a thread sleeps in: proc_pid_syscall(5). Returns 0 or what errno was. */
static int read_call(int pid, struct live_thread *thread)
{
	char path[64];
	cleanup_free char *text = NULL;
	uint64_t *a = thread->arguments;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, thread->tid);
	errno = 0;
	text = read_file(path, 4096);
	if (!text)
		return errno;
	thread->is_known = sscanf(text,
				  "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
				  " %" SCNx64 " %" SCNx64 " %" SCNx64,
				  &thread->call, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5],
				  &thread->stack_at, &thread->pc) == 9;
	return 0;
}

static int read_thread(struct live_process *process, int tid, uint64_t now)
{
	struct live_thread *thread = &process->threads[process->thread_count];
	uint64_t ran;
	int status;

	memset(thread, 0, sizeof(*thread));
	thread->tid = tid;
	read_status(process->pid, thread);
	status = read_call(process->pid, thread);
	if (status == ESRCH || status == ENOENT)
		return 0;
	read_name(process->pid, tid, thread->name);
	ran = ran_ns(process->pid, tid);
	thread->asleep_ns = thread->is_known && ran && now > ran ? now - ran : 0;
	process->thread_count++;
	return status;
}

static int read_threads(struct live_process *process, struct error *err)
{
	uint64_t now = ran_ns(getpid(), getpid());
	const struct dirent *entry;
	char path[64];
	int status = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	tasks = opendir(path);
	if (!tasks)
		return refuse(errno, process->pid, err);
	process->threads = calloc(LIVE_THREADS_MAX, sizeof(*process->threads));
	while (process->threads && !status && (entry = readdir(tasks)) != NULL) {
		int tid = atoi(entry->d_name);

		if (tid > 0 && process->thread_count == LIVE_THREADS_MAX)
			process->left_out++;
		else if (tid > 0)
			status = read_thread(process, tid, now);
	}
	closedir(tasks);
	if (!process->threads)
		return error_system(err, ENOMEM, "process %d", process->pid);
	return status ? refuse(status, process->pid, err) : 0;
}

/* Numbers of system calls, and the locks' layout, are those of our own kind of program. */
static int check_class(const struct live_process *process, struct error *err)
{
	unsigned char head[EI_NIDENT] = { 0 };
	char path[64];
	cleanup_fd int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/exe", process->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || read(fd, head, sizeof(head)) != sizeof(head) || head[EI_CLASS] == OWN_CLASS)
		return 0;
	return error_set(err, ENOTSUP,
			 "process %d is a program of another size of words (32-bit?), whose waits "
			 "are not known here",
			 process->pid);
}

static char *find_program(const struct live_process *process)
{
	char name[32];
	char *found = read_link(process->pid, "exe");

	for (size_t i = 0; i < process->thread_count && !found; i++) {
		snprintf(name, sizeof(name), "task/%d/exe", process->threads[i].tid);
		found = read_link(process->pid, name);
	}
	return found;
}

int live_look(struct live_process *process, int pid, struct error *err)
{
	int status;

	*process = (struct live_process){ .pid = pid };
	read_name(pid, pid, process->name);
	find_root(process);
	status = check_class(process, err);
	if (!status)
		status = read_threads(process, err);
	if (!status)
		status = read_mappings(process, err);
	if (!status)
		process->program = find_program(process);
	return status;
}

void live_free(struct live_process *process)
{
	for (size_t i = 0; i < process->thread_count; i++)
		free(process->threads[i].stack);
	free(process->threads);
	free(process->mappings.items);
	free(process->maps);
	free(process->program);
	free(process->root);
	*process = (struct live_process){ 0 };
}

/* ---- memory and registers ---- */

int live_read(int pid, uint64_t address, void *bytes, size_t size)
{
	struct iovec to = { bytes, size };
	struct iovec from = { (void *)(uintptr_t)address, size };

	return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

/* As much of the stack as is there. */
static void read_stack(const struct live_process *process, struct live_thread *thread)
{
	uint8_t *stack = thread->stack ? thread->stack : malloc(LIVE_STACK_MAX);
	uint64_t at = thread->stack_at;
	size_t size = 0;

	/* by pages, since a call that meets a hole gives nothing of what lies before it */
	while (stack && size < LIVE_STACK_MAX) {
		size_t part = 4096 - ((at + size) & 4095);

		if (part > LIVE_STACK_MAX - size)
			part = LIVE_STACK_MAX - size;
		if (live_read(process->pid, at + size, stack + size, part))
			break;
		size += part;
	}
	thread->stack = stack;
	thread->stack_size = size;
}

static void read_registers(struct live_thread *thread, struct stopping *stopping)
{
	registers_native native;
	struct iovec place = { &native, sizeof(native) };

	if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)(uintptr_t)NT_PRSTATUS, &place) != 0)
		return;
	stopping_stopped(stopping, &native);
	if (stopping_settle(stopping, &native, STOPPING_READ))
		ptrace(PTRACE_SETREGSET, thread->tid, (void *)(uintptr_t)NT_PRSTATUS, &place);
	stopping_shorten(stopping, &native);
	thread->pc = registers_copy(&native, thread->registers);
	thread->stack_at = thread->registers[REGISTERS_STACK];
	thread->has_registers = true;
}

/* One that is frozen may never stop. */
static bool wait_stopped(int tid, int *status)
{
	for (int i = 0; i < STOP_TRIES; i++) {
		pid_t found = waitpid(tid, status, __WALL | WNOHANG);

		if (found)
			return found == tid && WIFSTOPPED(*status);
		nanosleep(&(struct timespec){ .tv_nsec = STOP_NS }, NULL);
	}
	return false;
}

/* A thread that we cannot stop (another tracer's, say) is told with less. */
static bool stop_and_read(const struct live_process *process, struct live_thread *thread)
{
	struct stopping stopping;
	int status;

	stopping_look(&stopping, process->pid, thread->tid);
	thread->objection = stopping.state == 'D' ? "a sleep that nothing interrupts"
						  : stopping_objection(&stopping);
	if (!REGISTERS_COUNT || thread->objection)
		return false;
	if (ptrace(PTRACE_SEIZE, thread->tid, NULL, NULL) != 0)
		return false;
	if (ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) == 0 &&
	    wait_stopped(thread->tid, &status)) {
		int signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);

		read_registers(thread, &stopping);
		ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)signal);
	}
	return thread->has_registers;
}

size_t live_read_stacks(struct live_process *process, bool stops)
{
	size_t count = 0;

	for (size_t i = 0; i < process->thread_count; i++) {
		struct live_thread *thread = &process->threads[i];

		if (!thread->is_known || thread->call < 0 || thread->is_whole)
			continue;
		if (stops && !stop_and_read(process, thread))
			continue;
		read_stack(process, thread);
		count++;
	}
	return count;
}

void live_look_again(int pid, struct live_thread *thread)
{
	read_status(pid, thread);
}

bool live_is_unmoved(int pid, const struct live_thread *thread)
{
	struct live_thread now = { .tid = thread->tid };

	read_status(pid, &now);
	if (read_call(pid, &now) || !now.is_known)
		return false;
	return now.switches == thread->switches && now.call == thread->call &&
	       !memcmp(now.arguments, thread->arguments, sizeof(now.arguments));
}
