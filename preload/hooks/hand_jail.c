/* SPDX-License-Identifier: MIT */
/*
 * syscall(2) has a stub, but is not a hook: its calls are not recorded. The stub looks for two
 * kinds of calls. A program may install a seccomp filter by it (libseccomp does), and from then on
 * a system call of ours could kill the program; under syscall user dispatch (Wine, emulators) the
 * program would receive ours as SIGSYS. And calls that acquire or release what hooks are about are
 * noted, so that limits on those become unknown. Otherwise the stub does what libc's function does.
 * It is left out where our own system calls go through libc's function.
 */
#include "hand.h"

#include "preload/ground/sys.h"
#include "preload/record/memory.h"
#include "preload/record/ring.h"

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

/* Bits of enum arena_past for a call that succeeded. For a fork only in the parent. */
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

EXPORT long syscall(long number, ...)
{
	long argument[6], result;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		argument[i] = va_arg(list, long);
	va_end(list);
	if (unlikely(puts_filter_on(number, argument[0])) && life_is_running()) {
		memory_prepare();
		ring_be_quiet();
	}
	result = sys_call6(number, argument[0], argument[1], argument[2], argument[3], argument[4],
			   argument[5]);
	if ((unsigned long)result <= -4096ul) {
		life_note_past(past_of(number, argument, result));
		return result;
	}
	errno = (int)-result;
	return -1;
}
#endif
