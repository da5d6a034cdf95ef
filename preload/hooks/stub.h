/* SPDX-License-Identifier: MIT */
#ifndef STUB_H
#define STUB_H

/* Declarations that stubs.c and hand_*.c share. */

#include <sys/syscall.h>

#include "preload/ground/real.h"
#include "preload/record/call.h"
#include "preload/start/start.h"

/* Marks a function that the library exports. */
#define EXPORT __attribute__((visibility("default")))

/* Whether the hook records. The first call of a process starts the library. */
static inline bool stub_is_armed(enum hook_number hook)
{
	return likely(life_armed[hook]) || start_wake(hook);
}

/* Calls call_begin(), if the hook records. Returns whether the call is recorded. */
static inline bool stub_begin(struct call *call, enum hook_number hook, enum hook_when at,
			      enum hook_blocks blocks, const struct origin *origin, uint64_t object,
			      uint64_t related)
{
	return stub_is_armed(hook) && call_begin(call, hook, at, blocks, origin, object, related);
}

/* Converts a pointer, descriptor or handle to the 64 bits that a record stores. */
#define WORD(value) ((uint64_t)(uintptr_t)(value))

/* The errno that corresponds to a result of C11's threads.h; 0 for thrd_error, which has none. */
static inline int c11_error(int result)
{
	return result == thrd_nomem	 ? ENOMEM
	       : result == thrd_busy	 ? EBUSY
	       : result == thrd_timedout ? ETIMEDOUT
					 : 0;
}

/* Initialisers of struct call_argument for the column VALUES of hooks.def. */
#define DECIMAL(name)                                               \
	{                                                           \
		.kind = ARGUMENT_DECIMAL, .number = (int64_t)(name) \
	}
#define HEX(name)                                               \
	{                                                       \
		.kind = ARGUMENT_HEX, .number = (int64_t)(name) \
	}
#define OCTAL(name)                                               \
	{                                                         \
		.kind = ARGUMENT_OCTAL, .number = (int64_t)(name) \
	}
#define TEXT(name)                                    \
	{                                             \
		.kind = ARGUMENT_TEXT, .text = (name) \
	}
#define TIME(name)                                    \
	{                                             \
		.kind = ARGUMENT_TIME, .time = (name) \
	}

/* ---- calls of syscall(2) that are recorded as calls of hooks (numbers.def) ---- */

/* Newer system calls have the same numbers on all processors. */
#ifndef __NR_memfd_secret
#define __NR_memfd_secret 447
#endif
#ifndef __NR_futex_waitv
#define __NR_futex_waitv 449
#endif
#ifndef __NR_futex_wake
#define __NR_futex_wake	   454
#define __NR_futex_wait	   455
#define __NR_futex_requeue 456
#endif

/* Makes and records the system call. Returns false if numbers.def has no such row. */
bool stubs_by_number(const struct origin *caller, long number, const long *a, long *result);

#endif
