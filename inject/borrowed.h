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

/* Maps the scratch memory that calls in the target need; remote_end() unmaps it. */
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

/* Maps a page of a file with this name into the target for good, as a mark for later attaches. */
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

/* ---- filters of system calls ---- */

/*
 * A program's seccomp filter may kill the program for a system call that the library makes. So
 * before the injector changes a program, it reads the program's filters and evaluates them for each
 * of these calls.
 */

/* Whether the kernel lets this process read and suspend filters. */
bool jail_is_open(void);

/*
 * Examines the seccomp filters of a thread before any thread is stopped. Returns 0, or -EPERM with
 * a text if the filters allow too little or cannot be read. *filters: the number of filters of each
 * thread, or -1 if the numbers differ.
 */
int jail_look(pid_t pid, pid_t thread, int64_t *filters, struct error *err);

/*
 * Checks that the filters allow a stopped thread all system calls that the library needs, and that
 * all other threads have the same filters. filters: the number that jail_look() has just returned.
 * Returns 0, or a negative errno with the reason.
 */
int jail_check(const struct remote *remote, int64_t filters, struct error *err);

/*
 * Sets the error for a process whose filters cannot be read because none of its threads may be
 * stopped. where: a text that describes what such a thread does. Returns -EPERM.
 */
int jail_is_unknown(const char *where, struct error *err);

/* ---- what the thread executes ---- */

/*
 * Decides whether a stopped thread may be made to call the loader. Neither its current function nor
 * any of its callers may belong to an allocator, to the loader, or to fork and similar functions.
 * The words of the thread's stack are tested first; if a word is doubtful, the frames are walked.
 */

struct safe;

struct safe *safe_create(const struct target *target);
void safe_destroy(struct safe *safe);

/* Returns NULL if the thread may be borrowed, else a text that names the code in which it is. */
const char *safe_judge(struct safe *safe, const struct remote *remote);

/*
 * If safe_judge() could not decide without walking frames, reads the data for the walk. Call this
 * function while no thread is stopped, because it takes as long as several stops. Before this call,
 * safe_judge() tests only words of the stack.
 */
void safe_prepare(struct safe *safe);

#endif
