/* SPDX-License-Identifier: MIT */
#ifndef LIVE_RUNNING_H
#define LIVE_RUNNING_H

/*
 * A running process as /proc and ptrace show it; nothing is loaded into it. Threads are stopped
 * only if their stack cannot be walked by the stack pointer alone, one after the other, each while
 * its registers are read, and only if there is no objection (process/stopping.h). Names, memory and
 * stacks are under the control of the process and are not trusted.
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
	int tid;     /* in our pid namespace */
	int own_tid; /* in the process's own */
	char name[LIVE_NAME_MAX];
	char state;	       /* of proc_pid_stat(5): R S D T Z ... */
	struct proc_call call; /* the call in which it sleeps */
	uint64_t asleep_ns;    /* since it last ran; 0: unknown */
	uint64_t switches;     /* context switches */

	struct frames_thread start; /* where the walk of its stack begins */

	uint64_t frames[LIVE_FRAMES_MAX]; /* innermost first */
	unsigned frame_count;
	bool is_whole; /* the walk reached the outermost frame */
	/* why it was not stopped for a better walk: what it is in; NULL: no objection */
	const char *objection;
};

struct live_process {
	struct subject subject;
	char name[LIVE_NAME_MAX];
	char *program;	      /* path of the executable in the process's root; NULL: unknown */
	char *root;	      /* our path to its root directory: "/proc/PID/root"; NULL: the same as
			       * ours */
	bool has_our_numbers; /* it is in our pid namespace */
	bool is_glibc;	      /* its locks have the layout of glibc's */
	struct live_thread *threads;
	size_t thread_count;
	size_t left_out; /* threads beyond LIVE_THREADS_MAX */
};

/* Reads the state of a process. Returns 0, -ESRCH, or -EACCES with advice in err. */
int live_look(struct live_process *process, int pid, struct error *err);
void live_free(struct live_process *process);

/* The name of a thread (tid 0: of the process); "": unknown. */
void live_read_name(int pid, int tid, char name[LIVE_NAME_MAX]);

/*
 * Copies the stacks of sleeping threads whose walk is not complete; stops: only of those that may
 * be stopped, with their registers. Returns the number of stacks copied.
 */
size_t live_read_stacks(struct live_process *process, bool stops);

/*
 * Fills in the frames of all threads whose stacks were copied, by the unwinding rules of the mapped
 * files. These may be hostile, so a child in a sandbox reads them; a thread for which it fails
 * keeps its innermost frame. Returns 0 or a negative errno.
 */
int live_unwind(struct live_process *process, struct error *err);

/* Reads a thread's context switches again, because looking may have woken it. */
void live_look_again(int pid, struct live_thread *thread);

/* Whether a thread still sleeps in the same call and has not run since the last look. */
bool live_is_unmoved(int pid, const struct live_thread *thread);

#endif
