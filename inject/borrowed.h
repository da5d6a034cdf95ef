/* SPDX-License-Identifier: MIT */
#ifndef INJECT_BORROWED_H
#define INJECT_BORROWED_H

/*
 * The borrowed thread: a thread of the target that the injector stops and makes call functions.
 * Such a call returns to a signal frame, like a signal handler, and from this frame the thread
 * restores its own registers. So the thread continues correctly even if the injector is killed.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"
#include "inject/arch.h"
#include "inject/target.h"

/* A copy of the bytes below the thread's stack pointer that our signal frame overwrites. */
struct remote_loan {
	uint64_t low, frame;
	size_t size;
	uint8_t bytes[ARCH_FRAME_MAX + 256];
};

struct remote {
	const struct target *target;
	pid_t thread;
	struct arch_state state;  /* registers at the stop */
	struct stopping stopping; /* the system call in which the thread slept */
	uint64_t begun_ns;	  /* time of the stop */
	uint64_t scratch;	  /* the injector's memory in the target; 0: not mapped */
	bool is_suspended;	  /* the seccomp filter is suspended while we trace the thread */
	bool is_masked;		  /* signals are blocked during our calls */
	bool was_disturbed;	  /* a call of ours was interrupted, so the kernel has forgotten the
				   * thread's own call */
	/*
	 * the thread is still in our call; when the call returns, the thread restores its own
	 * registers
	 */
	bool is_left;
	bool has_loan; /* a signal frame of ours is on the thread's stack, in place of the bytes in
			  `loan` */
	struct remote_loan loan;
};

/* Layout of the scratch memory, as offsets. The page with the code is read-only. */
enum {
	REMOTE_DATA = 0,
	REMOTE_DATA_SIZE = 3072,
	REMOTE_WORD = 3072, /* struct remote_word, with the result of a call */
	REMOTE_CODE = 4096,
	REMOTE_STACK = 8192,
	REMOTE_STACK_SIZE = 256 << 10,
	REMOTE_FRAME = REMOTE_STACK + REMOTE_STACK_SIZE, /* space for a signal frame */
	REMOTE_SIZE = REMOTE_FRAME + 32768,
};

/* Blocks SIGCHLD, which announces stops. Call this function once, before the first stop. */
void remote_prepare(void);

/* Whether the stack of a stopped thread has space for one signal frame. */
bool remote_has_room(const struct remote *remote);

/*
 * Whether the thread's seccomp filter can be suspended while we trace the thread. If so, we may
 * stop the thread even in a sleep whose continuation the filter possibly forbids.
 */
bool remote_may_suspend(const struct stopping *stopping);

/*
 * Stops a thread that passed the checks of stopping_look(). Returns 0, or a negative errno: -EAGAIN
 * if another thread may be tried, -EBUSY with a text if the process must not be touched.
 */
int remote_stop(struct remote *remote, const struct target *target, const struct stopping *stopping,
		struct error *err);

/*
 * Lets the thread continue as if it had not been stopped. A thread that is still in a call of ours
 * (is_left) finishes the call and restores its registers from the frame. To continue its sleep, a
 * thread may need another system call, which its seccomp filter possibly forbids. Such a thread
 * stays traced, with the filter suspended, until we exit: PTRACE_DETACH would interrupt the sleep.
 */
void remote_release(struct remote *remote);

/* Maps the memory that calls need; remote_end() unmaps it. */
int remote_begin(struct remote *remote, struct error *err);
void remote_end(struct remote *remote);

/* Makes a system call in the target. Returns its result or -errno. */
int64_t remote_syscall(struct remote *remote, const struct arch_call *call);

/*
 * Calls a function in the target. Returns 0 and its result, or a negative errno: -EDEADLK: the
 * thread waited for the loader's lock, whose owner may wait for this thread; the call was undone
 * and may be repeated later -ECANCELED, and the result: the injector was too slow, and the thread
 * has restored its registers -ETIMEDOUT: the call takes too long; the thread finishes it without
 * the injector -ENOTRECOVERABLE: the call would never return; it was abandoned inside the loader
 * another errno, with a text.
 */
int remote_call(struct remote *remote, const struct arch_call *call, uint64_t *result,
		struct error *err);

/* Maps a page of a file with this name into the target and leaves it there, as a mark. */
void remote_leave_page(struct remote *remote, const char *name);

/*
 * These functions find and close descriptors that interrupted attaches left open in a process. Find
 * them before the stop, because a server may have very many; close them during the stop.
 */
size_t remote_find_files(pid_t pid, int *files, size_t most);
void remote_close_file(struct remote *remote, int file);

/*
 * Creates a file in memory (memfd) with these bytes in the target. Returns its descriptor in the
 * target, or -errno.
 */
int remote_file(struct remote *remote, const char *name, const void *bytes, size_t size);

#endif
