/* SPDX-License-Identifier: MIT */
#ifndef INJECT_JAIL_H
#define INJECT_JAIL_H

/*
 * A program's seccomp filter may kill the program for a system call that the library makes. So
 * before the injector changes a program, it reads the program's filters and evaluates them for each
 * of these calls.
 */

#include "base/error.h"
#include "inject/borrowed.h"

/* Whether the kernel lets this process read and suspend filters. */
bool jail_is_open(void);

/*
 * Examines the seccomp filters of a thread before any thread is stopped. Returns 0, or -EPERM with
 * a text if the filters allow too little or cannot be read. *filters: the number of filters of each
 * thread, or -1 if the numbers differ.
 */
int jail_look(pid_t pid, pid_t thread, int64_t *filters, struct error *err);

/*
 * Checks that the filters allow a stopped thread all system calls that the library needs, and that
 * all other threads have the same filters. filters: the number that jail_look() has just returned.
 * Returns 0, or a negative errno with the reason.
 */
int jail_check(const struct remote *remote, int64_t filters, struct error *err);

/*
 * Sets the error for a process whose filters cannot be read because none of its threads may be
 * stopped. where: a text that describes what such a thread does. Returns -EPERM.
 */
int jail_is_unknown(const char *where, struct error *err);

#endif
