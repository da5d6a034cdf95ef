/* SPDX-License-Identifier: MIT */
#ifndef INJECT_JAIL_H
#define INJECT_JAIL_H

/*
 * A program's seccomp filter may kill the program for a system call that the library makes. So
 * before the program is changed, its filters are read and run on each of these calls.
 */

#include "base/error.h"
#include "inject/borrowed.h"

/* Whether the kernel lets us read and suspend filters. */
bool jail_is_open(void);

/*
 * Examines a thread's seccomp filters before any stop. Returns 0, or -EPERM with a text if they
 * allow too little or cannot be read. *filters: the number of filters of each thread of the
 * process.
 */
int jail_look(pid_t pid, pid_t thread, int64_t *filters, struct error *err);

/*
 * Whether a stopped thread may make all system calls that the library needs, and all other threads
 * have the same filters. filters: the number that jail_look() returned just before. Returns 0, or a
 * negative errno with the reason.
 */
int jail_check(const struct remote *remote, int64_t filters, struct error *err);

/*
 * Sets the error for a process whose filters cannot be read because no thread may be stopped.
 * where: the state of such a thread. Returns -EPERM.
 */
int jail_is_unknown(const char *where, struct error *err);

#endif
