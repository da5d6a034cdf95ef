/* SPDX-License-Identifier: MIT */
/*
 * Hooked by hand: syscall(2). Only its futex calls are recorded. The hook also recognises two other
 * kinds of calls. First, calls after which we must not make system calls: under a seccomp filter
 * (which libseccomp installs by syscall()), our system call could kill the program; under syscall
 * user dispatch (Wine, emulators), the program would receive our system call as SIGSYS. Second,
 * calls that acquire or release objects of other hooks' classes: they are noted (enum arena_past),
 * so that limits on these classes are reported as unknown. In all other respects the hook does the
 * same as libc's function. The hook does not exist where our own system calls go through libc's
 * function.
 */
#include "hand.h"

#include "preload/ground/sys.h"
#include "preload/record/memory.h"
#include "preload/record/ring.h"

#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#ifndef ARCH_CALLS_BY_LIBC
static bool puts_filter_on(long number, long first)
{
	return (number == __NR_seccomp &&
		(first == SECCOMP_SET_MODE_FILTER || first == SECCOMP_SET_MODE_STRICT)) ||
	       (number == __NR_prctl &&
		(first == PR_SET_SECCOMP || first == PR_SET_SYSCALL_USER_DISPATCH));
}

/* Bits of enum arena_past for a call that succeeded. A fork has its bit only in the parent. */
static uint32_t past_of(long number, const long *argument, long result)
{
	switch (number) {
	case __NR_mmap:
		return 1u << PAST_MAPPING |
		       (argument[2] & PROT_WRITE && argument[3] & MAP_ANONYMOUS) << PAST_MEMORY;
	case __NR_munmap:
	case __NR_mremap:
		return 1u << PAST_MAPPING;
#ifdef __NR_open
	case __NR_open:
	case __NR_creat:
	case __NR_dup2:
	case __NR_pipe:
	case __NR_epoll_create:
	case __NR_eventfd:
	case __NR_inotify_init:
	case __NR_signalfd:
#endif
	case __NR_openat:
	case __NR_openat2:
	case __NR_close:
	case __NR_close_range:
	case __NR_dup:
	case __NR_dup3:
	case __NR_pipe2:
	case __NR_socket:
	case __NR_socketpair:
	case __NR_accept:
	case __NR_accept4:
	case __NR_epoll_create1:
	case __NR_eventfd2:
	case __NR_fanotify_init:
	case __NR_inotify_init1:
	case __NR_memfd_create:
	case __NR_pidfd_getfd:
	case __NR_pidfd_open:
	case __NR_signalfd4:
	case __NR_timerfd_create:
		return 1u << PAST_FD;
#ifdef __NR_fork
	case __NR_fork:
	case __NR_vfork:
#endif
	case __NR_wait4:
		return (result != 0) << PAST_PROCESS;
	case __NR_waitid:
		return 1u << PAST_PROCESS;
	case __NR_clone:
		return (result && !(argument[0] & CLONE_THREAD)) << PAST_PROCESS;
	case __NR_clone3:
		return (result && !(*(const uint64_t *)argument[0] & CLONE_THREAD)) << PAST_PROCESS;
	default:
		return 0;
	}
}

/* ---- futexes ---- */

/* Linux 6.7; the numbers are the same on all processors. */
#ifndef __NR_futex_wake
#define __NR_futex_wake 454
#define __NR_futex_wait 455
#endif
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

enum futex_does { FUTEX_OTHER, FUTEX_WAITS, FUTEX_WAKES };

/*
 * Whether the call waits or wakes. Threads that are moved to another word (FUTEX_REQUEUE) are not
 * woken: calls that move them are not recorded.
 */
static enum futex_does futex_does(long number, long operation)
{
	if (number == __NR_futex_wait)
		return FUTEX_WAITS;
	if (number == __NR_futex_wake)
		return FUTEX_WAKES;
	if (number != __NR_futex)
		return FUTEX_OTHER;
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return FUTEX_WAITS;
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_WAKE_OP:
		return FUTEX_WAKES;
	default:
		return FUTEX_OTHER;
	}
}

static long call_kernel(long number, const long *argument)
{
	return sys_call6(number, argument[0], argument[1], argument[2], argument[3], argument[4],
			 argument[5]);
}

/* Records a wait that slept and a wake that woke threads. Returns the kernel's result. */
static __attribute__((noinline)) long call_futex(const struct origin *origin, enum futex_does does,
						 long number, const long *argument)
{
	bool is_wait = does == FUTEX_WAITS;
	/* visible while the call is open: whether it ends by itself */
	bool has_limit = !is_wait || argument[number == __NR_futex ? 3 : 4];
	struct call_event event;
	struct call call;
	long result;

	if (!stub_begin(&call, HOOK_syscall, is_wait ? WHEN_RETURN : WHEN_ENTRY,
			is_wait ? BLOCKS_YES : BLOCKS_NO, origin, WORD(argument[0]), has_limit))
		return call_kernel(number, argument);
	if (is_wait)
		call_sleeps(&call);
	result = call_kernel(number, argument);
	if (is_wait)
		call_returned(&call);
	else
		call_returned_early(&call);
	call.error = result < 0 ? (int)-result : 0;
	event = (struct call_event){
		.resource = RESOURCE_FUTEX,
		.operation = is_wait ? OPERATION_WAIT : OPERATION_NOTIFY,
		.moment = is_wait ? MOMENT_LEAVE : MOMENT_ENTER,
		.failed = result < 0,
		.object = WORD(argument[0]),
		.size = is_wait ? 0 : (uint64_t)result,
		.arguments = VALUES_FOR(syscall, DECIMAL(number), DECIMAL(argument[1]),
					DECIMAL(argument[2])),
	};
	if (is_wait ? !result || result == -ETIMEDOUT || result == -EINTR : result > 0)
		call_event(&call, &event);
	call_end(&call);
	return result;
}

EXPORT long syscall(long number, ...)
{
	const struct origin origin = CAPTURE_ORIGIN();
	long argument[6], result;
	enum futex_does does;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		argument[i] = va_arg(list, long);
	va_end(list);
	if (unlikely(puts_filter_on(number, argument[0])) && life_is_running()) {
		memory_prepare();
		ring_be_quiet();
	}
	does = futex_does(number, argument[1]);
	result = does ? call_futex(&origin, does, number, argument) : call_kernel(number, argument);
	if ((unsigned long)result <= -4096ul) {
		life_note_past(past_of(number, argument, result));
		return result;
	}
	errno = (int)-result;
	return -1;
}
#endif
