/* SPDX-License-Identifier: MIT */
#include "inject/borrowed.h"

#if ARCH_INJECTS

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc.h"
#include "injected.h"

#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif
#ifndef SYS_memfd_create
#error "memfd_create(2) is needed"
#endif

#define STOP_MS \
	5000 /* a thread that does not stop within this time is in an uninterruptible sleep */
#define SYSCALL_MS 5000
#define LOCK_MS	   20 /* interval between checks whether a call waits for the loader's lock */
/* after this time, also check whether the thread waits for a lock that it owns itself */
#define SELF_MS	       1000
#define CALL_MS	       30000 /* limit of the duration of a call */
#define LOCK_CONTENDED 2     /* value of the futex of a libc mutex while threads wait for it */
#define MUTEX_KINDS    512   /* all of libc's mutex kinds are smaller */
#define HELD_MOST      64    /* maximum number of threads that stay traced until we exit */
#define HOLD_MS	       2000  /* limit of the wait in continue_traced() */
/* after its call, a thread waits this long for the injector, then restores its registers itself */
#define HEAL_SECONDS 2
#define SPIN	     20
#define STEP_NS	     20000 /* pause between two reads of struct remote_word */
/* waitpid() is repeated after this time, in case a SIGCHLD was missed */
#define AWAIT_NS 50000000
/* number of words near the thread pointer to search for pointers to the scratch stack */
#define TCB_WORDS 1024
#define TCB_BELOW 512
#define PAGE	  4096u

/* Signals that must not be blocked, since the thread's own instructions may raise them. */
#define SYNCHRONOUS                                                             \
	(1ull << (SIGTRAP - 1) | 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | \
	 1ull << (SIGILL - 1) | 1ull << (SIGFPE - 1) | 1ull << (SIGSYS - 1))

/* ---- stops ---- */

void remote_prepare(void)
{
	const struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t stops;

	/* an inherited SIG_IGN would suppress SIGCHLD */
	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&stops);
	sigaddset(&stops, SIGCHLD);
	sigprocmask(SIG_BLOCK, &stops, NULL);
	prctl(PR_SET_TIMERSLACK, 1);
}

/*
 * Waits for the thread's next stop, at most `ms` milliseconds. Returns the status from waitpid(),
 * -EAGAIN if the thread does not stop in this time, or -ESRCH if it is gone. SIGCHLD wakes the
 * injector immediately; sched_yield(2) would first run all other threads of a busy machine.
 */
static int wait_stop(pid_t thread, uint64_t ms)
{
	const struct timespec most = { .tv_nsec = AWAIT_NS };
	uint64_t end = clock_ns() + ms * 1000000u;
	sigset_t stops;

	sigemptyset(&stops);
	sigaddset(&stops, SIGCHLD);
	for (int tries = 0;; tries++) {
		int status;
		pid_t got = waitpid(thread, &status, __WALL | WNOHANG);

		if (got == thread)
			return WIFSTOPPED(status) ? status : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -ESRCH;
		if (clock_ns() > end)
			return -EAGAIN;
		if (tries >= SPIN)
			sigtimedwait(&stops, NULL, &most);
	}
}

static int get_regs(struct remote *remote, struct arch_state *state)
{
	uint8_t code[2][4];
	struct iovec part = { &state->regs, sizeof(state->regs) };

	if (ptrace(PTRACE_GETREGSET, remote->thread, (long)NT_PRSTATUS, &part))
		return -errno;
	if (!ARCH_FORGETS_CALLS)
		return 0;
	/* the following facts are not in the general registers */
	state->is_at_call =
		!subject_get(&remote->target->subject, arch_pc(state) - 4, code, sizeof(code)) &&
		(!memcmp(code[0], arch_syscall_code, 4) || !memcmp(code[1], arch_syscall_code, 4));
	part = (struct iovec){ &state->thread_pointer, sizeof(state->thread_pointer) };
	ptrace(PTRACE_GETREGSET, remote->thread, (long)NT_ARM_TLS, &part);
	return 0;
}

static int set_regs(struct remote *remote, const struct arch_state *state)
{
	struct iovec part = { (void *)(uintptr_t)&state->regs, sizeof(state->regs) };

	return ptrace(PTRACE_SETREGSET, remote->thread, (long)NT_PRSTATUS, &part) ? -errno : 0;
}

static int get_state(struct remote *remote)
{
	struct arch_state *state = &remote->state;
	struct iovec part = { state->vector, sizeof(state->vector) };

	if (get_regs(remote, state) ||
	    ptrace(PTRACE_GETREGSET, remote->thread, (long)ARCH_VECTOR_NOTE, &part) ||
	    ptrace(PTRACE_GETSIGMASK, remote->thread, (long)sizeof(state->mask), &state->mask))
		return -errno;
	state->vector_size = part.iov_len;
	return 0;
}

/*
 * Waits until the thread stops because of PTRACE_INTERRUPT. Delivers signals that arrive before
 * this stop.
 */
static int wait_interrupted(struct remote *remote, struct error *err)
{
	for (;;) {
		int status = wait_stop(remote->thread, STOP_MS);

		if (status < 0)
			return status;
		if (status >> 16 != PTRACE_EVENT_STOP) {
			ptrace(PTRACE_CONT, remote->thread, 0, (long)WSTOPSIG(status));
			continue;
		}
		if (WSTOPSIG(status) == SIGTRAP)
			return 0;
		ptrace(PTRACE_DETACH, remote->thread, 0, 0);
		return error_set(err, EBUSY, "the process is stopped: run `kill -CONT %d` first",
				 (int)remote->target->subject.pid);
	}
}

/*
 * Changes the registers so that the thread continues as if it had not been stopped. Call this
 * function only in a stop by PTRACE_INTERRUPT, because after such a stop the kernel obeys the
 * restart code of an interrupted call.
 */
static void settle_registers(const struct remote *remote, struct arch_state *state)
{
	enum stopping_use use = remote->was_disturbed ? STOPPING_DISTURBED
				: remote->is_masked   ? STOPPING_BORROWED
						      : STOPPING_READ;

	stopping_settle(&remote->stopping, &state->regs, use);
}

/* Threads that stay traced until we exit. */
static pid_t held[HELD_MOST];
static size_t held_count;

static bool is_held(pid_t thread)
{
	for (size_t i = 0; i < held_count; i++)
		if (held[i] == thread)
			return true;
	return false;
}

bool remote_may_suspend(const struct stopping *stopping)
{
#if defined(__x86_64__)
	return stopping->is_filtered && held_count < HELD_MOST && jail_is_open();
#else
	(void)stopping;
	return false;
#endif
}

/*
 * Lets the thread continue its sleep, but remains its tracer, because the seccomp filter is
 * suspended only while the thread is traced. Waits until the repeated system call has passed the
 * filter.
 */
static void continue_traced(const struct remote *remote)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	uint64_t end = clock_ns() + HOLD_MS * 1000000ull;
	struct proc_call call = { .number = 0 };

	if (!is_held(remote->thread))
		held[held_count++] = remote->thread;
	ptrace(PTRACE_CONT, remote->thread, 0, 0);
	for (;;) {
		int status = wait_stop(remote->thread, 0);
		bool is_signal = status > 0 && status >> 16 != PTRACE_EVENT_STOP;

		if (status > 0)
			ptrace(PTRACE_CONT, remote->thread, 0,
			       (long)(is_signal ? WSTOPSIG(status) : 0));
		if (status == -ESRCH || clock_ns() > end)
			return;
		/*
		 * /proc shows the call only while the thread sleeps in it, so a call that is shown
		 * has passed the filter
		 */
		proc_call(remote->target->subject.pid, remote->thread, &call);
		if (status == -EAGAIN && call.number >= 0 &&
		    (call.number == SYS_restart_syscall ||
		     call.number != remote->stopping.call.number))
			return;
		nanosleep(&step, NULL);
	}
}

int remote_stop(struct remote *remote, const struct target *target, const struct stopping *stopping,
		struct error *err)
{
	bool suspends = remote_may_suspend(stopping);
	long options = PTRACE_O_TRACESYSGOOD | (suspends ? PTRACE_O_SUSPEND_SECCOMP : 0);
	pid_t thread = stopping->tid;
	int status;

	memset(remote, 0, offsetof(struct remote, state));
	remote->target = target;
	remote->thread = thread;
	remote->stopping = *stopping;
	remote->scratch = 0;
	remote->is_masked = remote->was_disturbed = false;
	remote->is_left = remote->has_loan = false;
	remote->is_suspended = suspends;
	if (!is_held(thread) && ptrace(PTRACE_SEIZE, thread, 0, options)) {
		int number = errno;

		/* a thread that is ending cannot be traced */
		if (number == ESRCH || proc_has_ended(target->subject.pid, thread))
			return -EAGAIN;
		/* a kernel without CONFIG_CHECKPOINT_RESTORE cannot suspend filters */
		if (suspends && number == EINVAL)
			return -EAGAIN;
		return error_set(err, number,
				 "the kernel does not allow tracing the process (%s): attach as "
				 "root, or start the program by `holdtrace record --start=off`",
				 strerror(number));
	}
	remote->begun_ns = clock_ns();
	status = ptrace(PTRACE_INTERRUPT, thread, 0, 0) ? -errno : wait_interrupted(remote, err);
	if (status == -EBUSY)
		return status;
	if (!status)
		status = get_state(remote);
	if (!status) {
		struct arch_state settled = remote->state;

		stopping_stopped(&remote->stopping, &remote->state.regs);
		/* set the registers now, so that the thread continues correctly if we are killed */
		settle_registers(remote, &settled);
		return set_regs(remote, &settled) ? -EAGAIN : 0;
	}
	if (status == -EAGAIN)
		/* a thread that has not stopped cannot be detached; our exit detaches it */
		return error_set(err, ETIMEDOUT,
				 "thread %d does not stop (it is in an uninterruptible sleep, or "
				 "the machine is too busy): try again",
				 (int)thread);
	ptrace(PTRACE_DETACH, thread, 0, 0);
	return -EAGAIN;
}

static void set_mask(struct remote *remote, uint64_t mask)
{
	ptrace(PTRACE_SETSIGMASK, remote->thread, (long)sizeof(mask), &mask);
}

/*
 * Restores the bytes of the thread's stack that the frame has overwritten. Call this function only
 * when the registers no longer lead to the frame: if we are killed then, the thread continues with
 * its own registers.
 */
static void return_loan(struct remote *remote)
{
	if (remote->has_loan)
		target_write(remote->target, remote->loan.low, remote->loan.bytes,
			     remote->loan.size);
	remote->has_loan = false;
}

void remote_release(struct remote *remote)
{
	struct arch_state state = remote->state;
	struct iovec part = { state.vector, state.vector_size };
	bool sleeps_on;

	if (remote->is_left) {
		ptrace(PTRACE_DETACH, remote->thread, 0, 0);
		return;
	}
	if (remote->is_masked) {
		/*
		 * Stop the thread again, by PTRACE_INTERRUPT. After such a stop, unlike after a
		 * stop at a system call that we made, the kernel repeats an interrupted system
		 * call.
		 */
		bool runs = ptrace(PTRACE_INTERRUPT, remote->thread, 0, 0) == 0 &&
			    ptrace(PTRACE_SYSCALL, remote->thread, 0, 0) == 0;

		for (int i = 0; runs && i < 8; i++) {
			int status = wait_stop(remote->thread, STOP_MS);

			runs = status >= 0 && status >> 16 != PTRACE_EVENT_STOP;
			if (runs)
				ptrace(PTRACE_SYSCALL, remote->thread, 0, 0);
		}
		ptrace(PTRACE_SETREGSET, remote->thread, (long)ARCH_VECTOR_NOTE, &part);
	}
	sleeps_on = remote->is_suspended && remote->stopping.effect == STOPPING_KEPT &&
		    !remote->was_disturbed && arch_disturbs(&state);
	if (!sleeps_on)
		settle_registers(remote, &state);
	if (remote->is_masked)
		set_mask(remote, state.mask);
	set_regs(remote, &state);
	return_loan(remote);
	stopping_shorten(&remote->stopping, &state.regs);
	if (sleeps_on)
		continue_traced(remote);
	else
		ptrace(PTRACE_DETACH, remote->thread, 0, 0);
}

/* ---- calls ---- */

/* Runs the thread to the next entry or exit of a system call, with asynchronous signals blocked. */
static int run_to_syscall(struct remote *remote, uint64_t ms)
{
	for (;;) {
		int status;

		if (ptrace(PTRACE_SYSCALL, remote->thread, 0, 0))
			return -ESRCH;
		status = wait_stop(remote->thread, ms);
		if (status < 0)
			return status;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && !(status >> 16))
			return 0;
		if (status >> 16 == PTRACE_EVENT_STOP)
			continue;
		return -EFAULT;
	}
}

/*
 * Builds the signal frame from which the thread restores its registers. The caller must write the
 * frame to the address `at`. Returns the size of the frame.
 */
static size_t make_frame(const struct remote *remote, uint64_t at, uint8_t buffer[ARCH_FRAME_MAX])
{
	struct arch_state state = remote->state;

	/* rt_sigreturn discards the kernel's restart state */
	stopping_settle(&remote->stopping, &state.regs, STOPPING_DISTURBED);
	arch_make_again(&state);
	return arch_write_frame(&state, at, buffer);
}

static int put_frame(struct remote *remote, uint64_t at)
{
	static _Thread_local uint8_t buffer[ARCH_FRAME_MAX] __attribute__((aligned(64)));

	return target_write(remote->target, at, buffer, make_frame(remote, at, buffer));
}

static void find_loan(const struct remote *remote, struct remote_loan *loan)
{
	size_t size = make_frame(remote, 0, loan->bytes);
	uint64_t top = arch_sp(&remote->state) - ARCH_RED_ZONE;

	/* the position of the vectors in the frame varies with the address by less than 64 bytes */
	loan->frame = (top - size - 64) & ~63ull;
	loan->low = loan->frame - ARCH_RETURN_ON_STACK;
	loan->size = size + 64 + ARCH_RETURN_ON_STACK;
}

bool remote_has_room(const struct remote *remote)
{
	static _Thread_local struct remote_loan loan;
	const struct mapping *stack =
		maps_at(&remote->target->subject.maps, arch_sp(&remote->state));

	find_loan(remote, &loan);
	/* since Linux 6.5, a stack does not grow when another process writes below it */
	return stack && stack->flags & MAPPING_WRITE &&
	       !subject_get(&remote->target->subject, loan.low, loan.bytes, loan.size);
}

static int start_call(struct remote *remote, const struct arch_state *state)
{
	int status = set_regs(remote, state);

	/*
	 * set the registers before the mask: if we are killed, the registers lead to the frame,
	 * which restores the mask
	 */
	if (!status && !remote->is_masked)
		set_mask(remote, ~SYNCHRONOUS);
	remote->is_masked |= !status;
	return status;
}

int64_t remote_syscall(struct remote *remote, const struct arch_call *call)
{
	struct remote_loan *loan = &remote->loan;
	struct arch_state state = remote->state;
	uint64_t at = remote->scratch + REMOTE_FRAME;
	bool borrows = !remote->scratch;
	int status = 0;

	if (borrows) {
		find_loan(remote, loan);
		at = loan->frame;
		status = subject_get(&remote->target->subject, loan->low, loan->bytes, loan->size);
		remote->has_loan = !status;
	}
	if (!status)
		status = put_frame(remote, at);
	if (!status && ARCH_RETURN_ON_STACK > 0)
		status = target_write(remote->target, at - ARCH_RETURN_ON_STACK,
				      &remote->target->restorer, ARCH_RETURN_ON_STACK);
	if (status)
		return status;
	arch_begin_syscall(&state, remote->target->syscall, at, remote->target->restorer, call);
	status = start_call(remote, &state);
	if (!borrows)
		return_loan(remote);
	if (!status)
		status = run_to_syscall(remote, SYSCALL_MS);
	if (!status)
		status = run_to_syscall(remote, SYSCALL_MS);
	if (!status)
		status = get_regs(remote, &state);
	return status ? status : arch_syscall_result(&state);
}

/* ---- waits for the loader's lock ---- */

/* Whether `address` is in the data of the loader, where the loader's locks are. */
static bool is_loaders(const struct target *target, uint64_t address)
{
	const struct mapping *map = maps_at(&target->subject.maps, address);
	const struct mapping *loader = maps_named(&target->subject.maps, "ld-linux");

	if (!map || !loader || !(map->flags & MAPPING_WRITE))
		return false;
	/* the loader's .bss follows the mappings of its file and has no name */
	return strstr(map->path, "/ld-linux") || (!*map->path && map > target->subject.maps.items &&
						  strstr(map[-1].path, "/ld-linux"));
}

/* Whether the thread waits for a lock of libc. A thread in FUTEX_WAKE unlocks and does not wait. */
static bool waits_for_lock(const struct arch_state *state)
{
	return arch_number(state) == SYS_futex &&
	       (arch_argument(state, 1) & FUTEX_CMD_MASK) == FUTEX_WAIT &&
	       (uint32_t)arch_argument(state, 2) == LOCK_CONTENDED;
}

/*
 * Whether the thread, which waits for the lock at address `lock`, already owns another lock of the
 * loader: one of the two that precede `lock` in memory. Also returns true if the owners cannot be
 * read. The loader's locks are adjacent, and are taken in the order of their addresses. If the
 * thread already owns a lock, its call cannot be undone.
 */
static bool has_taken(const struct remote *remote, uint64_t lock)
{
	enum { LOCK_SIZE = 40, OWNER = 8 };
	int32_t self = proc_own_number(remote->target->subject.pid, remote->thread), owner;

	if (!self)
		self = (int32_t)remote->thread;
	for (int i = 1; i <= 2; i++)
		if (subject_get(&remote->target->subject, lock - (uint64_t)i * LOCK_SIZE + OWNER,
				&owner, sizeof(owner)) ||
		    owner == self)
			return true;
	return false;
}

/*
 * Whether the thread waits for a libc mutex that it owns itself. If so, the call will never return.
 * This happens if the thread was borrowed inside a function that was not known to be unsafe.
 */
static bool waits_for_itself(const struct remote *remote, const struct arch_state *state)
{
	struct {
		uint32_t lock, count;
		int32_t owner;
		uint32_t users, kind;
	} mutex;
	int32_t self = proc_own_number(remote->target->subject.pid, remote->thread);

	if (!waits_for_lock(state) ||
	    subject_get(&remote->target->subject, arch_argument(state, 0), &mutex, sizeof(mutex)))
		return false;
	return mutex.lock == LOCK_CONTENDED && mutex.owner == (self ? self : remote->thread) &&
	       mutex.users && mutex.kind < MUTEX_KINDS;
}

/*
 * The words that arch_call_code uses: whether the call has returned, its result, and the time for
 * which the thread then sleeps.
 */
struct remote_word {
	uint64_t is_done, result;
	uint64_t seconds, nanoseconds;
};

static int stop_now(struct remote *remote)
{
	if (ptrace(PTRACE_INTERRUPT, remote->thread, 0, 0))
		return -ESRCH;
	for (;;) {
		int stop = wait_stop(remote->thread, STOP_MS);

		if (stop < 0)
			return stop;
		if (stop >> 16 == PTRACE_EVENT_STOP)
			return 0;
		/* a fatal signal: report it instead of delivering it again */
		if (!(WSTOPSIG(stop) & 0x80))
			return -EFAULT;
		ptrace(PTRACE_CONT, remote->thread, 0, 0);
	}
}

/*
 * Called when the call has not returned for a while: finds out what the thread waits for. is_late:
 * also checks whether the thread waits for a lock that it owns itself. Returns 0 if the call
 * continues, -EDEADLK if the thread waits for a lock of the loader and its call can be undone,
 * -ENOTRECOVERABLE if the thread waits for a lock that it owns, or another negative errno.
 */
static int look_after(struct remote *remote, const uint64_t *before, bool is_late)
{
	uint64_t now[TCB_WORDS], at = arch_thread_pointer(&remote->state) - TCB_BELOW * 8ull;
	struct arch_state state;
	int status = stop_now(remote);

	if (!status)
		status = get_regs(remote, &state);
	if (status)
		return status;
	remote->was_disturbed |= arch_disturbs(&state);
	/*
	 * This lock's owner may be waiting for this thread, whose call can still be undone, because
	 * the thread owns no lock of the loader yet.
	 */
	if (waits_for_lock(&state) && is_loaders(remote->target, arch_argument(&state, 0)) &&
	    !has_taken(remote, arch_argument(&state, 0)))
		status = -EDEADLK;
	else if (is_late && waits_for_itself(remote, &state))
		status = -ENOTRECOVERABLE;
	if (!status)
		return ptrace(PTRACE_CONT, remote->thread, 0, 0) ? -ESRCH : 0;
	/* restore the words near the thread pointer that the call has set to scratch addresses */
	if (subject_get(&remote->target->subject, at, now, sizeof(now)))
		return status;
	for (size_t i = 0; i < TCB_WORDS; i++)
		if (now[i] != before[i] && now[i] >= remote->scratch &&
		    now[i] < remote->scratch + REMOTE_SIZE)
			target_write(remote->target, at + 8 * i, &before[i], 8);
	return status;
}

/*
 * Reads *word from the target until the call has returned. Returns 0, -EAGAIN if the call does not
 * return within `ms` milliseconds, or another negative errno.
 */
static int poll_word(struct remote *remote, struct remote_word *word, uint64_t ms)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	uint64_t end = clock_ns() + ms * 1000000u;

	for (;;) {
		int stop = wait_stop(remote->thread, 0);

		if (stop != -EAGAIN)
			return stop < 0 ? stop : -EFAULT;
		if (subject_get(&remote->target->subject, remote->scratch + REMOTE_WORD, word,
				sizeof(*word)))
			return -EFAULT;
		if (word->is_done)
			return 0;
		if (clock_ns() > end)
			return -EAGAIN;
		nanosleep(&step, NULL);
	}
}

/*
 * Stops the thread after its call. Returns 0 if the thread is still in arch_call_code, -ECANCELED
 * if it has already restored its registers, or another negative errno.
 */
static int take_back(struct remote *remote)
{
	uint64_t code = remote->scratch + REMOTE_CODE;
	struct arch_state state;
	int status = stop_now(remote);

	if (!status)
		status = get_regs(remote, &state);
	if (status)
		return status;
	if (arch_pc(&state) >= code && arch_pc(&state) <= code + sizeof(arch_call_code))
		return 0;
	remote->is_masked = false;
	remote->stopping.call.number = -1;
	status = get_state(remote);
	stopping_stopped(&remote->stopping, &remote->state.regs);
	return status ? -ESRCH : -ECANCELED;
}

/*
 * Runs the thread until its call has returned. If the call takes too long, the injector detaches
 * from the thread inside the call: the thread may own the loader's lock, and can release the lock
 * only if it runs on. At the end of the call, the thread restores its registers from the frame. The
 * call is abandoned only if it waits for the loader's lock, or for a lock that the thread itself
 * owns.
 */
static int run_call(struct remote *remote, struct remote_word *word, const uint64_t *before)
{
	const char *limit = getenv("HOLDTRACE_CALL_MS"); /* tests set this variable */
	uint64_t ms = limit ? strtoull(limit, NULL, 10) : CALL_MS;
	uint64_t begun = clock_ns(), end = begun + ms * 1000000u;
	int status;

	if (ptrace(PTRACE_CONT, remote->thread, 0, 0))
		return -ESRCH;
	while ((status = poll_word(remote, word, LOCK_MS)) == -EAGAIN) {
		status = look_after(remote, before, clock_ns() - begun > SELF_MS * 1000000ull);
		if (status)
			return status;
		if (clock_ns() <= end)
			continue;
		status = stop_now(remote);
		remote->is_left = !status;
		return status ? -ESRCH : -ETIMEDOUT;
	}
	return status ? status : take_back(remote);
}

int remote_call(struct remote *remote, const struct arch_call *call, uint64_t *result,
		struct error *err)
{
	struct remote_word word = { .seconds = HEAL_SECONDS };
	uint64_t before[TCB_WORDS], frame = remote->scratch + REMOTE_FRAME;
	struct arch_state state = remote->state;
	int status = put_frame(remote, frame);

	memset(before, 0, sizeof(before));
	subject_get(&remote->target->subject, arch_thread_pointer(&state) - TCB_BELOW * 8ull,
		    before, sizeof(before));
	if (!status)
		status = target_write(remote->target, remote->scratch + REMOTE_WORD, &word,
				      sizeof(word));
	arch_begin_call(&state, remote->scratch + REMOTE_CODE, frame, remote->scratch + REMOTE_WORD,
			call);
	if (!status)
		status = start_call(remote, &state);
	if (!status)
		status = run_call(remote, &word, before);
	*result = status && status != -ECANCELED ? 0 : word.result;
	if (status == -ENOTRECOVERABLE)
		return error_set(
			err, ENOTRECOVERABLE,
			"thread %d holds a lock that loading a library needs (that of an unknown "
			"allocator): the thread continues, but the loader stays locked and process "
			"%d cannot load libraries any more; restart the program when possible",
			(int)remote->thread, (int)remote->target->subject.pid);
	if (status && status != -EDEADLK && status != -ECANCELED)
		return error_set(err, -status,
				 "a function that was called in process %d did not return (%s)",
				 (int)remote->target->subject.pid, strerror(-status));
	return status;
}

/* ---- the injector's memory in the target ---- */

int remote_begin(struct remote *remote, struct error *err)
{
	int64_t at = remote_syscall(
		remote, &(struct arch_call){ SYS_mmap,
					     { 0, REMOTE_SIZE, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0 } });

	if (at < 0 && at > -(int64_t)PAGE)
		return error_system(err, (int)-at, "the process cannot map memory");
	remote->scratch = (uint64_t)at;
	if (target_write(remote->target, remote->scratch + REMOTE_CODE, arch_call_code,
			 sizeof(arch_call_code)) ||
	    remote_syscall(remote, &(struct arch_call){ SYS_mprotect,
							{ remote->scratch + REMOTE_CODE, PAGE,
							  PROT_READ | PROT_EXEC } }))
		return error_set(err, EPERM, "the process may not map executable memory");
	return 0;
}

void remote_end(struct remote *remote)
{
	uint64_t scratch = remote->scratch;

	/* there is no scratch memory yet, so the frame of this call is on the thread's own stack */
	remote->scratch = 0;
	if (scratch)
		remote_syscall(remote, &(struct arch_call){ SYS_munmap, { scratch, REMOTE_SIZE } });
}

int remote_file(struct remote *remote, const char *name, const void *bytes, size_t size)
{
	uint64_t text = remote->scratch + REMOTE_DATA;
	int64_t fd = target_write(remote->target, text, name, strlen(name) + 1);
	cleanup_fd int own = -1;
	char path[64];
	int status;

	if (!fd)
		fd = remote_syscall(remote,
				    &(struct arch_call){ SYS_memfd_create, { text, MFD_CLOEXEC } });
	if (fd < 0)
		return (int)fd;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)remote->target->subject.pid, (int)fd);
	own = open(path, O_RDWR | O_CLOEXEC);
	status = own < 0 ? -errno : 0;
	for (size_t done = 0; !status && done < size;) {
		ssize_t put = write(own, (const char *)bytes + done, size - done);

		if (put <= 0)
			status = put < 0 ? -errno : -EIO;
		else
			done += (size_t)put;
	}
	if (!status)
		return (int)fd;
	remote_syscall(remote, &(struct arch_call){ SYS_close, { (uint64_t)fd } });
	return status;
}

void remote_leave_page(struct remote *remote, const char *name)
{
	int fd = remote_file(remote, name, "", 1);

	if (fd < 0)
		return;
	remote_syscall(remote,
		       &(struct arch_call){ SYS_mmap,
					    { 0, PAGE, PROT_READ, MAP_SHARED, (uint64_t)fd, 0 } });
	remote_syscall(remote, &(struct arch_call){ SYS_close, { (uint64_t)fd } });
}

static bool is_our_file(pid_t pid, const char *number)
{
	char name[300], found[64];

	snprintf(name, sizeof(name), "fd/%s", number);
	proc_link(pid, 0, name, found, sizeof(found));
	return !strcmp(found, "/memfd:" LATE_LIBRARY " (deleted)") ||
	       !strcmp(found, "/memfd:" LATE_TRIGGER " (deleted)");
}

size_t remote_find_files(pid_t pid, int *files, size_t most)
{
	char path[64];
	const struct dirent *entry;
	size_t count = 0;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	directory = opendir(path);
	while (directory && count < most && (entry = readdir(directory)) != NULL)
		if (is_our_file(pid, entry->d_name))
			files[count++] = atoi(entry->d_name);
	if (directory)
		closedir(directory);
	return count;
}

void remote_close_file(struct remote *remote, int file)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", file);
	if (is_our_file(remote->target->subject.pid, number))
		remote_syscall(remote, &(struct arch_call){ SYS_close, { (uint64_t)file } });
}

#endif
