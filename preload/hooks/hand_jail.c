/* SPDX-License-Identifier: MIT */
/*
 * syscall(2). It is no hook: nothing of it is recorded. A filter for system calls is put on by it
 * (libseccomp does), and afterwards one of ours could kill the program. So it is looked for, and
 * all else is done as libc does it. Under syscall user dispatch (Wine, emulators) ours would come
 * to the program as SIGSYS. Where ours are made through libc's function it is left alone.
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
	if ((unsigned long)result <= -4096ul)
		return result;
	errno = (int)-result;
	return -1;
}
#endif
