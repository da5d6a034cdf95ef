/* SPDX-License-Identifier: MIT */
#include "process/stopping.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "process/maps.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

#define FUTEX_LOCK_PI2_NUMBER 13
#define PIPE_WHOLE	      4096 /* PIPE_BUF: a write of at most this size is not split */
/* a call that has slept for less than this may start its time limit again */
#define YOUNG_NS 2000000
/*
 * the largest accepted error in the remaining time of a call; a more exact time would take a longer
 * stop
 */
#define LATE_NS 1000000

enum result { EXACT, BLOCK, REWRITTEN, ENDED, ANEW, RECEIVES, SENDS };
enum form { NEVER, MS, SPEC, VAL };

static const struct call {
	long number;
	enum result result;
	enum form form;
	int argument;
} calls[] = {
#define CALL(name, result, form, argument) { SYS_##name, result, form, argument },
#include "process/stopping.def"
#undef CALL
};

static const struct call *find_call(int64_t number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

/* ---- duration of the sleep ---- */

/*
 * Returns for how long a thread has slept, in ns, or 0 if that is unknown. The clocks of processors
 * differ, because each clock omits the time that interrupts and other virtual machines took. So the
 * calling thread moves to the sleeping thread's processor and reads the same clock. During the
 * sleep, this clock omits such time, too, so the result may be too short, but never too long.
 */
static uint64_t asleep_ns(pid_t pid, pid_t tid)
{
	uint64_t theirs = proc_ran_ns(pid, tid), ours = 0;
	enum { PROCESSOR = 39 }; /* number of the field `processor` in proc_pid_stat(5) */
	char text[PROC_STAT_SIZE];
	const char *field = proc_field(proc_stat(pid, tid, text), PROCESSOR);
	int processor = field ? atoi(field) : -1;
	cpu_set_t before, wanted;

	if (!theirs || processor < 0 || processor >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof(before), &before))
		return 0;
	CPU_ZERO(&wanted);
	CPU_SET(processor, &wanted);
	if (sched_setaffinity(0, sizeof(wanted), &wanted) == 0) {
		sched_yield();
		ours = proc_ran_ns(getpid(), (pid_t)syscall(SYS_gettid));
		sched_setaffinity(0, sizeof(before), &before);
	}
	return ours > theirs ? ours - theirs : 0;
}

static void find_age(struct stopping *stopping)
{
	stopping->asleep_ns = asleep_ns(stopping->pid, stopping->tid);
	stopping->looked_ns = clock_ns();
}

/*
 * Returns the effect of a stop on a call whose time limit of `ms` milliseconds is in a register.
 * other: the effect if the remaining time cannot be set.
 */
static enum stopping_effect judge_ms(struct stopping *stopping, int64_t ms,
				     enum stopping_effect other)
{
	const struct mapping *code;
	struct maps maps = { 0 };

	if ((int32_t)ms < 0)
		return STOPPING_AGAIN;
	find_age(stopping);
	if (!stopping->asleep_ns)
		return other;
	/*
	 * If the call is in libc's wrapper: the wrapper does not use the registers of the arguments
	 * after the call, so the tracer may change the register with the limit.
	 */
	code = maps_read(&maps, stopping->pid) ? NULL : maps_at(&maps, stopping->call.pc);
	if (code && mapping_is_libc(code, false))
		other = STOPPING_REMAINING;
	maps_free(&maps);
	return other;
}

/* ---- descriptors ---- */

/*
 * Returns the effect on a call for a socket. Queries a copy of the socket's descriptor for a time
 * limit, and for whether a transfer may be partial.
 */
static enum stopping_effect judge_socket(pid_t pid, int fd, bool sends, bool waits_for_all)
{
	cleanup_fd int process = (int)syscall(SYS_pidfd_open, pid, 0);
	cleanup_fd int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	struct timeval limit = { 0 };
	int kind = 0, lowest = 1;
	socklen_t size = sizeof(limit), small = sizeof(int);

	if (copy < 0 ||
	    getsockopt(copy, SOL_SOCKET, sends ? SO_SNDTIMEO : SO_RCVTIMEO, &limit, &size))
		return STOPPING_UNKNOWN;
	if (limit.tv_sec || limit.tv_usec)
		return STOPPING_TIMED;
	if (getsockopt(copy, SOL_SOCKET, SO_TYPE, &kind, &small) || kind != SOCK_STREAM)
		return STOPPING_NONE;
	getsockopt(copy, SOL_SOCKET, SO_RCVLOWAT, &lowest, &small);
	return sends || waits_for_all || lowest > 1 ? STOPPING_PARTIAL : STOPPING_NONE;
}

static enum stopping_effect judge_file(const struct stopping *stopping, bool sends)
{
	const struct proc_call *call = &stopping->call;
	int fd = (int)call->argument[0];
	bool begins = call->number == SYS_connect || call->number == SYS_accept ||
		      call->number == SYS_accept4;
	bool waits_for_all = (call->number == SYS_recvfrom && call->argument[3] & MSG_WAITALL) ||
			     (call->number == SYS_recvmsg && call->argument[2] & MSG_WAITALL);
	enum stopping_effect effect;
	struct statx status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)stopping->pid, fd);
	/*
	 * Queries only the type, without synchronization: if the program itself serves the file
	 * system, it may not answer.
	 */
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &status))
		return STOPPING_UNKNOWN;
	if (S_ISSOCK(status.stx_mode)) {
		effect = judge_socket(stopping->pid, fd, sends, waits_for_all);
		return begins && effect == STOPPING_PARTIAL ? STOPPING_NONE : effect;
	}
	if (S_ISFIFO(status.stx_mode))
		return !sends || (call->number == SYS_write && call->argument[2] <= PIPE_WHOLE)
			       ? STOPPING_NONE
			       : STOPPING_PARTIAL;
	/* terminals, by major number: Documentation/admin-guide/devices.txt */
	if (S_ISCHR(status.stx_mode) &&
	    (status.stx_rdev_major == 4 || status.stx_rdev_major == 5 ||
	     (status.stx_rdev_major >= 136 && status.stx_rdev_major <= 143)))
		return sends ? STOPPING_PARTIAL : STOPPING_NONE;
	/* eventfd, timerfd, inotify and others have no file type */
	return status.stx_mode & S_IFMT ? STOPPING_UNKNOWN : STOPPING_NONE;
}

/* ---- calls ---- */

/*
 * Returns the effect on a call that the kernel continues by restart_syscall(2). If the program
 * passed one buffer for the limit and for the remaining time, the kernel writes the remaining time
 * where the repeated call reads its limit.
 */
static enum stopping_effect judge_block(struct stopping *stopping)
{
	const struct proc_call *call = &stopping->call;
	uint64_t operation;

	switch (call->number) {
	case SYS_futex:
		operation = call->argument[1] & (uint64_t)FUTEX_CMD_MASK;
		if (!call->argument[3] ||
		    (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET))
			return STOPPING_NONE;
		return operation == FUTEX_WAIT ? STOPPING_KEPT : STOPPING_AGAIN;
	case SYS_nanosleep:
		return call->argument[0] == call->argument[1] ? STOPPING_AGAIN : STOPPING_KEPT;
	case SYS_clock_nanosleep:
		if (call->argument[1] & TIMER_ABSTIME)
			return STOPPING_NONE;
		return call->argument[2] == call->argument[3] ? STOPPING_AGAIN : STOPPING_KEPT;
#ifdef SYS_poll
	case SYS_poll:
		if ((int32_t)call->argument[2] >= 0 && !stopping->is_filtered)
			return STOPPING_KEPT;
		return judge_ms(stopping, (int64_t)call->argument[2], STOPPING_KEPT);
#endif
	default:
		return STOPPING_KEPT;
	}
}

static enum stopping_effect judge_call(struct stopping *stopping)
{
	int64_t number = stopping->call.number;
	const struct call *call = find_call(number);
	uint64_t limit;

	if (number < 0)
		return STOPPING_NONE;
	if (!call)
		return number == SYS_sendfile || number == SYS_splice || number == SYS_sendmmsg ||
				       number == SYS_copy_file_range
			       ? STOPPING_PARTIAL
			       : STOPPING_UNKNOWN;
	limit = stopping->call.argument[call->argument];
	switch (call->result) {
	case EXACT:
		return STOPPING_NONE;
	case BLOCK:
		return judge_block(stopping);
	case REWRITTEN:
		return limit ? STOPPING_REWRITTEN : STOPPING_NONE;
	case ENDED:
		if (call->form == MS)
			return judge_ms(stopping, (int64_t)limit, STOPPING_TIMED);
		return call->form == SPEC && limit ? STOPPING_TIMED : STOPPING_AGAIN;
	case ANEW:
		return limit ? STOPPING_TIMED : STOPPING_NONE;
	case RECEIVES:
	case SENDS:
		break;
	}
	return judge_file(stopping, call->result == SENDS);
}

/* ---- before the stop ---- */

static void read_status(struct stopping *stopping)
{
	cleanup_free char *text = proc_text(stopping->pid, stopping->tid, "status");
	const char *state = proc_value(text, "State"), *blocked = proc_value(text, "SigBlk"),
		   *switches = proc_value(text, "voluntary_ctxt_switches"),
		   *mode = proc_value(text, "Seccomp");

	stopping->state = state ? *state : '?';
	stopping->is_filtered = mode && *mode != '0';
	stopping->blocked = blocked ? strtoull(blocked, NULL, 16) : 0;
	stopping->switches = switches ? strtoull(switches, NULL, 10) : 0;
}

void stopping_look(struct stopping *stopping, pid_t pid, pid_t tid)
{
	*stopping = (struct stopping){ .pid = pid, .tid = tid, .looked_ns = clock_ns() };
	read_status(stopping);
	proc_call(pid, tid, &stopping->call);
	/*
	 * a stop does not interrupt a sleep for a disk, and the sleep of a stopped thread was
	 * already interrupted
	 */
	if (strchr("DTt", stopping->state))
		return;
	stopping->effect = judge_call(stopping);
#ifdef __aarch64__
	/*
	 * on aarch64, the kernel chooses restart_syscall(2) before the stop, so the tracer cannot
	 * prevent it
	 */
	if (stopping->is_filtered && stopping->effect == STOPPING_AGAIN &&
	    find_call(stopping->call.number)->result == BLOCK)
		stopping->effect = STOPPING_KEPT;
#else
	if (stopping->effect == STOPPING_TIMED ||
	    (stopping->effect == STOPPING_KEPT && stopping->is_filtered)) {
		find_age(stopping);
		stopping->is_young = stopping->asleep_ns && stopping->asleep_ns < YOUNG_NS;
	}
#endif
}

const char *stopping_objection(const struct stopping *stopping)
{
	switch (stopping->is_young ? STOPPING_NONE : stopping->effect) {
	case STOPPING_KEPT:
		return stopping->is_filtered ? "a sleep that its system call filter (seccomp) "
					       "may not allow to continue after a stop"
					     : NULL;
	case STOPPING_TIMED:
		return "a wait whose time limit a stop would change";
	case STOPPING_PARTIAL:
		return "a transfer that a stop would cut short";
	case STOPPING_UNKNOWN:
		return "a system call that a stop might end";
	case STOPPING_NONE:
	case STOPPING_REWRITTEN:
	case STOPPING_AGAIN:
	case STOPPING_REMAINING:
		break;
	}
	return NULL;
}

/* ---- during the stop ---- */

#if REGISTERS_COUNT > 0

#if defined(__x86_64__)

/* ERESTARTNOHAND: the kernel repeats the call unless a signal handler runs */
#define AGAIN (-514)
/* ERESTART_RESTARTBLOCK: the kernel continues the call by restart_syscall(2) */
#define BY_BLOCK (-516)

static void call_of(const registers_native *registers, struct proc_call *call)
{
	*call = (struct proc_call){
		.number = (int64_t)registers->orig_rax,
		.argument = { registers->rdi, registers->rsi, registers->rdx, registers->r10,
			      registers->r8, registers->r9 },
		.sp = registers->rsp,
		.pc = registers->rip,
	};
}

bool stopping_is_in_call(const struct stopping *stopping, const registers_native *registers)
{
	(void)stopping;
	return (int64_t)registers->orig_rax >= 0;
}

static void set_limit(registers_native *registers, int argument, uint64_t ms)
{
	if (argument == 2)
		registers->rdx = ms;
	else
		registers->r10 = ms;
}

#else

/*
 * On aarch64, the kernel no longer reports the call; only the stack pointer and the pc are known.
 * The pc is at the call's instruction or after it.
 */
static void call_of(const registers_native *registers, struct proc_call *call)
{
	*call = (struct proc_call){ .number = -1, .sp = registers->sp, .pc = registers->pc };
}

/*
 * Whether the thread is still in the call that was found before. The pc is after the call's
 * instruction, or at it if the call will be repeated.
 */
bool stopping_is_in_call(const struct stopping *stopping, const registers_native *registers)
{
	return stopping->call.number == (int64_t)registers->regs[8] &&
	       stopping->call.sp == registers->sp && stopping->call.pc - registers->pc <= 4;
}

static void set_limit(registers_native *registers, int argument, uint64_t ms)
{
	registers->regs[argument] = ms;
}

#endif

/* Whether the kernel has written the remaining time to memory of the program. */
static bool is_limit_in_memory(const struct stopping *stopping, const struct call *call)
{
	return call && (stopping->effect == STOPPING_REWRITTEN ||
			(stopping->effect == STOPPING_AGAIN && call->number != SYS_futex &&
			 call->result == BLOCK && call->form == SPEC));
}

void stopping_stopped(struct stopping *stopping, const registers_native *registers)
{
	struct stopping now = *stopping;
	struct proc_call call;

	stopping->stopped_ns = clock_ns();
	call_of(registers, &call);
#if defined(__x86_64__)
	stopping->is_fresh = memcmp(&call, &stopping->call, sizeof(call)) != 0;
#else
	stopping->is_fresh = !stopping_is_in_call(stopping, registers);
#endif
	if (!stopping->is_fresh && stopping->effect == STOPPING_REMAINING) {
		/*
		 * A new call may have the same arguments. The thread is in the old call if it was
		 * woken only once, by this stop.
		 */
		read_status(&now);
		stopping->is_fresh = now.switches != stopping->switches + 1;
	}
	if (stopping->is_fresh) {
		stopping->asleep_ns = 0;
		stopping->call = call;
		stopping->effect = judge_call(stopping);
		if (stopping->effect == STOPPING_REMAINING)
			stopping->effect = STOPPING_TIMED;
	}
	/*
	 * The tracer may notice the stop late, so the time of the stop is when the thread last ran.
	 * To read that time, the tracer has to wait for the thread's processor while the thread is
	 * stopped, so it reads the time only if the time matters.
	 */
	if (is_limit_in_memory(stopping, find_call(stopping->call.number)) &&
	    stopping->stopped_ns - stopping->looked_ns > LATE_NS) {
		uint64_t stood_ns = asleep_ns(stopping->pid, stopping->tid);

		stopping->stopped_ns = clock_ns() - stood_ns;
	}
}

/* ---- after the stop ---- */

/* Sets the register with the limit to the remaining time, in ms. */
static void shorten_register(const struct stopping *stopping, registers_native *registers)
{
	int argument = find_call(stopping->call.number)->argument;
	uint64_t limit = stopping->call.argument[argument] & 0xffffffffu;
	uint64_t gone = (stopping->asleep_ns + clock_ns() - stopping->looked_ns) / 1000000u;

	set_limit(registers, argument, gone < limit ? limit - gone : 0);
}

/* Whether a pending signal will interrupt the call, just as the stop has interrupted it. */
static bool has_signal(const struct stopping *stopping)
{
	cleanup_free char *text = proc_text(stopping->pid, stopping->tid, "status");
	const char *own = proc_value(text, "SigPnd"), *shared = proc_value(text, "ShdPnd");
	uint64_t pending =
		(own ? strtoull(own, NULL, 16) : 0) | (shared ? strtoull(shared, NULL, 16) : 0);

	return pending & ~stopping->blocked;
}

#if defined(__x86_64__)

bool stopping_settle(const struct stopping *stopping, registers_native *registers,
		     enum stopping_use use)
{
	int64_t result = (int64_t)registers->rax;

	if ((int64_t)registers->orig_rax < 0 || (result != BY_BLOCK && result != -EINTR))
		return false;
	if (result == BY_BLOCK) {
		if (stopping->call.number == SYS_restart_syscall ||
		    (use == STOPPING_READ && !stopping->is_filtered))
			return false;
		if (stopping->effect == STOPPING_KEPT && !stopping->is_filtered &&
		    use != STOPPING_DISTURBED)
			return false;
	} else if (stopping->effect == STOPPING_NONE || stopping->effect == STOPPING_UNKNOWN ||
		   /* for other values of `use`, the result AGAIN leaves the signal to the kernel */
		   (use == STOPPING_DISTURBED && has_signal(stopping))) {
		return false;
	}
	if (stopping->effect == STOPPING_REMAINING)
		shorten_register(stopping, registers);
	registers->rax = (unsigned long)AGAIN;
	return true;
}

static bool is_made_again(const registers_native *registers)
{
	return (int64_t)registers->orig_rax >= 0 && (int64_t)registers->rax == AGAIN;
}

#else

static bool is_made_again(const registers_native *registers)
{
	(void)registers;
	return true;
}

bool stopping_settle(const struct stopping *stopping, registers_native *registers,
		     enum stopping_use use)
{
	const struct proc_call *call = &stopping->call;

	if (stopping->is_fresh || call->number < 0)
		return false;
	if (registers->pc == call->pc) {
		if ((int64_t)registers->regs[0] != -EINTR || stopping->effect == STOPPING_NONE ||
		    stopping->effect == STOPPING_UNKNOWN || has_signal(stopping))
			return false;
		registers->regs[0] = call->argument[0];
		registers->pc -= 4;
	} else if (stopping->effect == STOPPING_KEPT && use == STOPPING_BORROWED &&
		   registers->regs[0] == call->argument[0]) {
		registers->regs[8] = SYS_restart_syscall;
		return true;
	} else if (stopping->effect != STOPPING_REMAINING || use == STOPPING_READ) {
		return false;
	}
	if (stopping->effect == STOPPING_REMAINING)
		shorten_register(stopping, registers);
	return true;
}

#endif

void stopping_shorten(const struct stopping *stopping, const registers_native *registers)
{
	const struct call *call = find_call(stopping->call.number);
	uint64_t unit = 1, time[2], left, stood_ns;
	struct iovec ours = { time, sizeof(time) }, theirs = { .iov_len = sizeof(time) };

	if (!is_limit_in_memory(stopping, call) || !is_made_again(registers))
		return;
	stood_ns = clock_ns() - stopping->stopped_ns;
	theirs.iov_base = (void *)(uintptr_t)stopping->call.argument[call->argument];
	if (call->form == VAL)
		unit = 1000;
	if (process_vm_readv(stopping->pid, &ours, 1, &theirs, 1, 0) != (ssize_t)sizeof(time) ||
	    time[0] > UINT64_MAX / 4 / NS_OF_SECOND || time[1] >= NS_OF_SECOND / unit)
		return;
	left = time[0] * NS_OF_SECOND + time[1] * unit;
	left = left > stood_ns ? left - stood_ns : 0;
	time[0] = left / NS_OF_SECOND;
	time[1] = left % NS_OF_SECOND / unit;
	/* if this fails, the thread sleeps longer, by the duration of the stop */
	process_vm_writev(stopping->pid, &ours, 1, &theirs, 1, 0);
}

#endif
