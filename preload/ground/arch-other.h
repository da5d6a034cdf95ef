/* SPDX-License-Identifier: MIT */
#ifndef ARCH_OTHER_H
#define ARCH_OTHER_H

/* The fallback for a processor without its own header. It uses only libc and the compiler. */

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include <linux/errno.h>

#define ARCH_CALLS_BY_LIBC

static inline long sys_call6(long number, long a, long b, long c, long d, long e, long f)
{
	int saved = errno;
	long result = syscall(number, a, b, c, d, e, f);

	if (result == -1)
		result = -errno;
	errno = saved;
	return result;
}

static inline long sys_call3(long number, long a, long b, long c)
{
	return sys_call6(number, a, b, c, 0, 0, 0);
}

/* No walker, and no register numbers for libunwind: a backtrace is the caller alone. */
#define ARCH_WALKS	0
#define ARCH_CHAINS	0
#define DWARF_REGISTERS 1
#define DWARF_FP	0
#define DWARF_SP	0
#define DWARF_RA	0
#define DWARF_PC	0

#define ARCH_RED_ZONE 0u

static inline uint64_t arch_registers(uintptr_t *reg, uintptr_t *pc)
{
	*reg = *pc = 0;
	return 0;
}

#define ARCH_HAS_THREAD_POINTER 0

/* Not every compiler has a builtin for the thread pointer. */
static inline uintptr_t arch_thread_pointer(void)
{
	return 0;
}

#define ARCH_SIGNS_ADDRESSES 0

static inline uintptr_t arch_plain_address(uintptr_t address)
{
	return address;
}

static inline bool arch_returns_to(uintptr_t frame, uintptr_t ip)
{
	(void)frame, (void)ip;
	return true;
}

#endif
