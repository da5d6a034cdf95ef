/* SPDX-License-Identifier: MIT */
#ifndef STUB_H
#define STUB_H

/* What the public functions of stubs.c and hand_*.c have in common. */

#include "preload/record/call.h"
#include "preload/ground/real.h"

/* The only names that leave the library are hooked ones. */
#define EXPORT __attribute__((visibility("default")))

/* Pointers, descriptors and handles alike as the 64 bits of a record. */
#define WORD(value) ((uint64_t)(uintptr_t)(value))

/* What a function of C11's threads.h returns instead of an error; thrd_error says no more. */
static inline int c11_error(int result)
{
	return result == thrd_nomem	 ? ENOMEM
	       : result == thrd_busy	 ? EBUSY
	       : result == thrd_timedout ? ETIMEDOUT
					 : 0;
}

/* Values as they stand in hooks.def. */
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

#endif
