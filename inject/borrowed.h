/* SPDX-License-Identifier: MIT */
#ifndef INJECT_BORROWED_H
#define INJECT_BORROWED_H

/*
 * One thread of the target, stopped, and what it is made to call. Every call is made as if it came
 * from a signal handler: below it lies a frame that the thread restores itself from. So whoever
 * kills the injector in the middle harms nobody.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"
#include "inject/arch.h"
#include "inject/target.h"

struct remote {
	const struct target *target;
	pid_t thread;
	struct arch_state state;  /* as it was stopped */
	struct stopping stopping; /* what it slept in */
	uint64_t begun_ns;	  /* when it was stopped */
	uint64_t scratch;	  /* memory of our own in the target; 0: none yet */
	bool is_suspended;	  /* its filter of system calls, while we trace it */
	bool is_masked;		  /* signals wait meanwhile */
	bool was_disturbed;	  /* it was stopped in the middle of a call */
	bool is_left;		  /* it is in a call still, and goes on by itself behind it */
};

/* Parts of the scratch memory, from its start. The page of the code cannot be written. */
enum {
	REMOTE_DATA = 0,
	REMOTE_DATA_SIZE = 3072,
	REMOTE_WORD = 3072, /* what a call leaves: struct remote_word */
	REMOTE_CODE = 4096,
	REMOTE_STACK = 8192,
	REMOTE_STACK_SIZE = 256 << 10,
	REMOTE_FRAME = REMOTE_STACK + REMOTE_STACK_SIZE, /* room for the frame of a signal */
	REMOTE_SIZE = REMOTE_FRAME + 32768,
};

/* To be called once before the first stop: stops are told by SIGCHLD, which is blocked for that. */
void remote_prepare(void);

/* Whether the stack of a stopped thread has room for the frame of a signal, which is laid there
 * once. */
bool remote_has_room(const struct remote *remote);

/*
 * Whether the filter of system calls (seccomp) of a thread can be suspended while we trace it: then
 * no sleep of it stands against a stop.
 */
bool remote_may_suspend(const struct stopping *stopping);

/*
 * Stops one thread, which stopping_look() had no objection to. Returns 0, or a negative errno:
 * -EAGAIN if another may be tried, -EBUSY with a sentence if the process must not be touched.
 */
int remote_stop(struct remote *remote, const struct target *target, const struct stopping *stopping,
		struct error *err);

/*
 * Lets it go as if nothing had been; one that is left, to where the call's frame leads it. One
 * whose filter might not let it go on with its sleep goes on while we trace it, without the filter,
 * and is let go by our own end: that disturbs no sleep, as PTRACE_DETACH would.
 */
void remote_release(struct remote *remote);

/* Makes the memory that calls need; and gives it back. */
int remote_begin(struct remote *remote, struct error *err);
void remote_end(struct remote *remote);

/* A system call in the target: its result, -errno. */
int64_t remote_syscall(struct remote *remote, const struct arch_call *call);

/*
 * Calls a function. Returns 0 with its result; -EDEADLK if it waits for the loader's lock, whose
 * owner may wait for this thread: then it was taken back, and may be called later; -ECANCELED with
 * its result if we were too slow, and the thread has gone on by itself; -ETIMEDOUT if the call was,
 * which is then left to itself; -ENOTRECOVERABLE if it would never come back: then it was given up
 * within the loader; another negative errno with a sentence.
 */
int remote_call(struct remote *remote, const struct arch_call *call, uint64_t *result,
		struct error *err);

/* Leaves a page in the target's mappings that has the name of such a file. */
void remote_leave_page(struct remote *remote, const char *name);

/*
 * Files of ours that are open in a process: calls that did not come back have left them so. To be
 * found before the stop, for a server may have very many files, and closed within it.
 */
size_t remote_find_files(pid_t pid, int *files, size_t most);
void remote_close_file(struct remote *remote, int file);

/* A file in the target's memory with these bytes: its descriptor there, or -errno. */
int remote_file(struct remote *remote, const char *name, const void *bytes, size_t size);

#endif
