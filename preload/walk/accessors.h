/* SPDX-License-Identifier: MIT */
#ifndef ACCESSORS_H
#define ACCESSORS_H

/*
 * The walk by libunwind, with --unwind=libunwind. This very process is given to it as if it were
 * another one: it asks us for every register, every word of memory and every unwind table. So it
 * opens no pipe, looks through no list of modules under the loader's lock, and reads nothing but
 * stack, code and tables. It is opened, not linked.
 *
 * What cannot be hidden: its modules have thread-local data, so glibc's table of it is longer for
 * each thread. A calloc of pthread_create is of some bytes more, and when a stack is used again
 * glibc frees an entry of nothing, free(NULL), for each of them.
 */

#include "capture.h"

/*
 * Opens libunwind. To be called once where dlopen may be (the library's start), never in a hook.
 * Returns 0, or -ENOENT if it is not installed or not the one we know, -ENOSYS where it cannot be
 * told the registers.
 */
int remote_open(void);

/*
 * Like capture_walk(), behind a remote_open() that gave 0. Called by a function that origin's has
 * called, with our hooks off in this thread: it blocks signals for moments, and takes locks that
 * are released with signals blocked. Returns 1 and origin's own address where the walk never comes
 * by the origin.
 */
unsigned int remote_walk(const struct origin *origin, const struct stack_bounds *stack,
			 uintptr_t *frames, unsigned int depth, enum capture_end *end);

#endif
