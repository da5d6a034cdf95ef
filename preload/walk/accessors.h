/* SPDX-License-Identifier: MIT */
#ifndef ACCESSORS_H
#define ACCESSORS_H

/*
 * Walks the stack with libunwind (--unwind=libunwind). libunwind treats this process as a remote
 * one: it calls our accessors for every register, every word of memory and every unwind table. So
 * it opens no pipe, does not search the list of modules under the loader's lock, and reads only the
 * stack, code and tables. libunwind is loaded by dlopen, not linked.
 *
 * One effect is visible in the trace: libunwind's libraries have thread-local data, so glibc
 * allocates some more bytes for each thread in pthread_create, and when it reuses a stack, it calls
 * free(NULL) for each of these libraries.
 */

#include "capture.h"

/*
 * Loads libunwind. Called once, at the start of our library, where dlopen is allowed; never in a
 * hook. Returns 0; -ENOENT if libunwind is not installed or its interface is another version;
 * -ENOSYS on processors whose registers we cannot pass to it.
 */
int remote_open(void);

/*
 * Like capture_walk(), but by libunwind, after remote_open() has returned 0. Our hooks must be off
 * in this thread, and the origin's function must be among the callers. libunwind blocks signals
 * while it holds a lock. If the walk does not reach the origin, returns 1: only the origin's own
 * address is stored.
 */
unsigned int remote_walk(const struct origin *origin, const struct stack_bounds *stack,
			 uintptr_t *frames, unsigned int depth, enum capture_end *end);

#endif
