/* SPDX-License-Identifier: MIT */
#include "scan/stop.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "scan/registers.h"

#define STUCK_NS    200000000ull  /* for a thread that does not stop: vfork's parent, a dead disk */
#define STOP_NS	    5000000000ull /* for one that will: whoever stops it must let it go */
#define OBJECT_NS   1000000000ull /* for those that may not be stopped now */
#define LOOK_NS	    2000000
#define ROUNDS_MAX  1000 /* looks at a process that makes threads as fast as we stop them */
#define THREADS_MAX 100000

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void read_name(const struct process *process, struct process_thread *thread)
{
	char name[64];
	cleanup_fd int fd = -1;
	ssize_t got;

	snprintf(name, sizeof(name), "task/%d/comm", thread->tid);
	fd = process_open(process, name);
	got = fd < 0 ? 0 : read(fd, thread->name, sizeof(thread->name) - 1);
	thread->name[got > 0 ? got : 0] = '\0';
	thread->name[strcspn(thread->name, "\n")] = '\0';
}

static bool is_known(const struct process *process, int tid)
{
	for (size_t i = process->threads.count; i-- > 0;)
		if (process->threads.items[i].tid == tid)
			return true;
	return false;
}

/* The leader is left behind by pthread_exit: it runs no more, and cannot be stopped. */
static bool has_ended(const struct process *process, int tid)
{
	char name[64], line[128] = "";
	cleanup_fd int fd = -1;
	const char *state;

	snprintf(name, sizeof(name), "task/%d/stat", tid);
	fd = process_open(process, name);
	if (fd < 0 || read(fd, line, sizeof(line) - 1) <= 0)
		return true;
	state = strrchr(line, ')');
	return state && state[1] && (state[2] == 'Z' || state[2] == 'X');
}

/* A thread that ended before it could be stopped has tid 0 from then on. */
static int ask_to_stop(struct process *process, int tid, struct error *err)
{
	struct process_thread *thread;
	struct stopping stopping;

	stopping_look(&stopping, process->pid, tid);
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL)) {
		int number = errno;

		if (number == ESRCH || has_ended(process, tid))
			return 0;
		return error_system(err, number, "thread %d cannot be stopped", tid);
	}
	thread = process->threads.count < THREADS_MAX ? ARRAY_ADD(&process->threads) : NULL;
	if (!thread)
		return error_system(err, ENOMEM, "threads");
	*thread = (struct process_thread){ .tid = tid, .stopping = stopping };
	return 1;
}

/* Asks all that are not known yet. Returns how many there were, or a negative errno. */
static int ask_new(struct process *process, struct error *err)
{
	char path[32];
	const struct dirent *entry;
	DIR *tasks;
	int rc = 0, count = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	tasks = opendir(path);
	if (!tasks)
		return error_system(err, ESRCH, "process %d", process->pid);
	while (rc >= 0 && (entry = readdir(tasks)) != NULL) {
		int tid = atoi(entry->d_name);

		if (tid <= 0 || is_known(process, tid))
			continue;
		rc = ask_to_stop(process, tid, err);
		count += rc > 0;
	}
	closedir(tasks);
	return rc < 0 ? rc : count;
}

/* Waits until a thread stands still. It may have ended instead: then it has no tid. */
static int await(struct process_thread *thread, uint64_t until_ns, struct error *err)
{
	const struct timespec step = { .tv_nsec = 50000 };
	int status;

	for (unsigned looks = 0;; looks++) {
		pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);

		if (got < 0 && errno != EINTR) {
			thread->tid = 0;
			return 0;
		}
		if (got == thread->tid)
			break;
		if (now_ns() > until_ns)
			return error_set(err, EBUSY, "thread %d does not stop", thread->tid);
		/* it is nearly always at once: another processor's interrupt away */
		if (looks > 20)
			nanosleep(&step, NULL);
	}
	if (!WIFSTOPPED(status)) {
		thread->tid = 0;
		return 0;
	}
	thread->is_stopped = true;
	thread->signal = status >> 16 ? 0 : WSTOPSIG(status);
	return 0;
}

static int take_thread(struct process *process, struct process_thread *thread, struct error *err)
{
	bool is_stuck = thread->stopping.state == 'D';
	int rc = await(thread, now_ns() + (is_stuck ? STUCK_NS : STOP_NS), err);

	if (rc || !thread->tid)
		return rc;
	rc = registers_read(thread);
	/* the leader may be gone while others go on (pthread_exit): a zombie has no registers */
	if (rc == -ESRCH) {
		thread->tid = 0;
		return 0;
	}
	if (rc)
		return error_system(err, -rc, "registers of thread %d", thread->tid);
	read_name(process, thread);
	return 0;
}

/* One look at all threads: the first that may not be stopped now, and why; NULL: all may. */
static const char *find_objection(const struct process *process, struct stopping *stopping)
{
	char path[32];
	const struct dirent *entry;
	const char *found = NULL;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks)) != NULL) {
		if (atoi(entry->d_name) <= 0)
			continue;
		stopping_look(stopping, process->pid, atoi(entry->d_name));
		found = stopping_objection(stopping);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

int stop_await_consent(const struct process *process, struct error *err)
{
	const struct timespec step = { .tv_nsec = LOOK_NS };
	uint64_t until_ns = now_ns() + OBJECT_NS;
	struct stopping stopping;
	const char *found;

	while ((found = find_objection(process, &stopping)) != NULL) {
		if (now_ns() > until_ns)
			return error_set(err, EBUSY,
					 "it was not stopped: thread %d is in %s (system call %d)",
					 stopping.tid, found, (int)stopping.call.number);
		if (process->beat)
			process->beat(process->user);
		nanosleep(&step, NULL);
	}
	return 0;
}

int stop_begin(struct process *process, struct error *err)
{
	size_t taken = 0;

	for (int round = 0; round < ROUNDS_MAX; round++) {
		int asked = ask_new(process, err);
		bool has_new = process->threads.count > taken;

		if (asked < 0)
			return asked;
		for (; taken < process->threads.count; taken++) {
			int rc = take_thread(process, &process->threads.items[taken], err);

			if (rc)
				return rc;
		}
		if (process->beat)
			process->beat(process->user);
		/* twice: who was about to be born when we looked is there now */
		if (!has_new && process->threads.count)
			return 0;
		if (!has_new)
			return error_system(err, ESRCH, "process %d", process->pid);
	}
	return error_set(err, EBUSY, "it makes threads faster than they can be stopped");
}

void stop_end(struct process *process)
{
	for (size_t i = 0; i < process->threads.count; i++) {
		struct process_thread *thread = &process->threads.items[i];

		if (!thread->tid || !thread->is_stopped)
			continue;
		if (!thread->signal)
			registers_settle(thread);
		ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(uintptr_t)thread->signal);
		thread->is_stopped = false;
	}
}
