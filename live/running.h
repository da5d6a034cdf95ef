/* SPDX-License-Identifier: MIT */
#ifndef LIVE_RUNNING_H
#define LIVE_RUNNING_H

/*
 * A running process as /proc and ptrace show it, without anything of ours inside. A look stops
 * nothing but threads whose stack cannot be walked by its stack pointer alone, one by one, each for
 * the time that it takes to read its registers, and only where nothing objects to that
 * (process/stopping.h).
 *
 * All of it is the process's own word: names, memory and stacks are whatever it made of them.
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
	int tid;     /* as we call it */
	int own_tid; /* as the process calls it */
	char name[LIVE_NAME_MAX];
	char state;	       /* of proc_pid_stat(5): R S D T Z ... */
	struct proc_call call; /* that it sleeps in */
	uint64_t asleep_ns;    /* since it ran last; 0: not known */
	uint64_t switches;     /* how often it went to sleep */

	struct frames_thread start; /* where its walk begins */

	uint64_t frames[LIVE_FRAMES_MAX]; /* innermost first */
	unsigned frame_count;
	bool is_whole; /* the walk came to the outermost one */
	/* why it was not stopped for a better walk: what it is in; NULL: no reason */
	const char *objection;
};

struct live_process {
	struct subject subject;
	char name[LIVE_NAME_MAX];
	char *program;	      /* path of the executable in the process's root; NULL: not known */
	char *root;	      /* how we come to its root: "/proc/PID/root"; NULL: it is ours */
	bool has_our_numbers; /* lives in our pid namespace */
	bool is_glibc;	      /* its locks are those of glibc */
	struct live_thread *threads;
	size_t thread_count;
	size_t left_out; /* threads beyond LIVE_THREADS_MAX */
};

/* Looks at a process. Returns 0, -ESRCH, or -EACCES with the way out. */
int live_look(struct live_process *process, int pid, struct error *err);
void live_free(struct live_process *process);

/* The name of a thread of a process (0: of the process itself); "": there is none. */
void live_read_name(int pid, int tid, char name[LIVE_NAME_MAX]);

/*
 * Reads the stacks of those threads that sleep; stops: also the registers of those whose walk did
 * not come to its end and that may be stopped. Returns how many stacks were read.
 */
size_t live_read_stacks(struct live_process *process, bool stops);

/*
 * Fills the frames of all threads whose stacks were read. The files that the process has mapped
 * tell how; they may be anybody's, so a child in a sandbox reads them, and a thread for which it
 * has no answer keeps its innermost frame. Returns 0 or a negative errno.
 */
int live_unwind(struct live_process *process, struct error *err);

/* Looks again how often a thread went to sleep: who is looked at may have been woken by it. */
void live_look_again(int pid, struct live_thread *thread);

/* Whether a thread still sleeps as at the last look: in the same call, and it has not run since. */
bool live_is_unmoved(int pid, const struct live_thread *thread);

#endif
