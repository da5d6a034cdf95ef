/* SPDX-License-Identifier: MIT */
#ifndef LIVE_RUNNING_H
#define LIVE_RUNNING_H

/*
 * Reads the state of a running process from /proc and through ptrace; nothing is loaded into the
 * process. A thread is stopped only if its stack cannot be walked by the stack pointer alone, and
 * only if there is no objection to stopping it (process/stopping.h). Threads are stopped one after
 * the other, each only while its registers are read. The process controls its names, its memory and
 * its stacks, so they are not trusted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "process/frames.h"
#include "process/proc.h"
#include "process/subject.h"

#define LIVE_THREADS_MAX 4096
#define LIVE_FRAMES_MAX	 64
#define LIVE_NAME_MAX	 64

struct live_thread {
	int tid;     /* thread id in our pid namespace */
	int own_tid; /* thread id in the pid namespace of the process */
	char name[LIVE_NAME_MAX];
	char state;	       /* state in proc_pid_stat(5): R S D T Z ... */
	struct proc_call call; /* the system call in which the thread sleeps */
	uint64_t asleep_ns;    /* time since the thread last ran; 0: unknown */
	uint64_t switches;     /* number of context switches */

	struct frames_thread start; /* registers and stack from which the stack is walked */

	uint64_t frames[LIVE_FRAMES_MAX]; /* program counters, innermost first */
	unsigned frame_count;
	bool is_whole; /* the walk reached the outermost frame */
	/* the reason why the thread was not stopped to read its registers; NULL: none */
	const char *objection;
};

struct live_process {
	struct subject subject;
	char name[LIVE_NAME_MAX];
	char *program; /* path of the executable, below the root directory of the process; NULL:
			  unknown */
	char *root; /* path to the root directory of the process, "/proc/PID/root"; NULL: its root
		       directory is ours */
	bool has_our_numbers;	 /* the process is in our pid namespace */
	uint64_t python_runtime; /* address of _PyRuntime of CPython; 0: none */
	int python_minor;	 /* version of that CPython: 3.minor */
	bool is_glibc;		 /* the process uses glibc, so its locks have glibc's layout */
	struct live_thread *threads;
	size_t thread_count;
	size_t left_out; /* number of threads beyond LIVE_THREADS_MAX, which are left out */
};

/* Reads the state of a process. Returns 0, -ESRCH, or -EACCES with advice in err. */
int live_look(struct live_process *process, int pid, struct error *err);
void live_free(struct live_process *process);

/*
 * Copies the stacks of sleeping threads whose backtrace is not complete. stops: stops each such
 * thread to read its registers, too, and skips threads that must not be stopped. Returns the number
 * of copied stacks.
 */
size_t live_read_stacks(struct live_process *process, bool stops);

/*
 * Sets the frames of all threads whose stacks were copied, by the unwinding rules of the mapped
 * files. These files may be hostile, so a child reads them in a sandbox. If the child fails for a
 * thread, only its innermost frame is known. Returns 0 or a negative errno.
 */
int live_unwind(struct live_process *process, struct error *err);

/* Reads a thread's state and number of context switches. */
void live_read_status(int pid, struct live_thread *thread);

/*
 * Whether a thread still sleeps in the same call and has not run since its context switches were
 * read.
 */
bool live_is_unmoved(int pid, const struct live_thread *thread);

#endif
