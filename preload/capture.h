/* SPDX-License-Identifier: MIT */
#ifndef CAPTURE_H
#define CAPTURE_H

/*
 * The backtrace of a hooked call, walked by our own rules (cfi.h) over the caller's stack. No
 * allocation, no lock, no libc, no system call in the steady state; a signal handler may interrupt
 * a walk and walk itself.
 */

#include <stdint.h>

#define CAPTURE_DEPTH_MAX 500

/* Where a hook's stub stands: the state of its caller just after the return. */
struct origin {
	uintptr_t ip;  /* return address into the caller */
	uintptr_t cfa; /* the caller's stack pointer then */
	uintptr_t fp;  /* the caller's frame pointer (rbp, x29) */
};

/* The readable stack of this thread. Unknown: 0, 0, and any that does not hold the origin. */
struct stack_bounds {
	uintptr_t low, high;
};

enum capture_end {
	CAPTURE_COMPLETE,   /* the outermost frame says that it is the outermost */
	CAPTURE_DEPTH,	    /* there is more than was asked for */
	CAPTURE_NO_RULE,    /* the last frame's code has no unwind table, or one we cannot read */
	CAPTURE_LEFT_STACK, /* the next value to read lies outside the stack, or is not readable */
	CAPTURE_NOT_RISING  /* the next frame does not lie above the last one */
};

/*
 * The origin of the function that says this; it gets a frame pointer by it. Only in a function that
 * is not inlined: the public stub itself.
 */
#define CAPTURE_ORIGIN()                                                                     \
	{                                                                                    \
		.ip = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)), \
		.cfa = (uintptr_t)__builtin_dwarf_cfa(),                                     \
		.fp = *(const uintptr_t *)__builtin_frame_address(0)                         \
	}

/*
 * Walks from origin outwards into frames: return addresses as they stand on the stack, innermost
 * first, frames[0] is origin->ip; the pc of a function that a signal interrupted is exact. The same
 * frames as libunwind's unw_step gives. depth: room in frames, at least 1. Returns how many were
 * stored, at least 1; *end says why there are no more. On a stack that is unknown each page is
 * first asked for by a system call, at most 1 MiB above the origin.
 */
unsigned int capture_walk(const struct origin *origin, const struct stack_bounds *stack,
			  uintptr_t *frames, unsigned int depth, enum capture_end *end);

#endif
