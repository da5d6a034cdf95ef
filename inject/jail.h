/* SPDX-License-Identifier: MIT */
#ifndef INJECT_JAIL_H
#define INJECT_JAIL_H

/*
 * A program behind a filter of system calls (seccomp) may be killed for what the library asks of
 * the kernel. So its filters are read, and each such call is tried on them, before it is touched.
 */

#include "base/error.h"
#include "inject/borrowed.h"

/* Whether the kernel lets us read filters, and suspend them. */
bool jail_is_open(void);

/*
 * Filters of system calls (seccomp), asked before anything is stopped: 0, or -EPERM with a sentence
 * if they allow too little or cannot be read. filters: how many all threads of the process have.
 */
int jail_look(pid_t pid, pid_t thread, int64_t *filters, struct error *err);

/*
 * Whether a stopped thread may make all system calls that the library will, and all others have its
 * filters (of jail_look() just before). Returns 0, or a negative errno with the reason.
 */
int jail_check(const struct remote *remote, int64_t filters, struct error *err);

/* The refusal of a process whose filters cannot be read, for its threads are in what where says. */
int jail_is_unknown(const char *where, struct error *err);

#endif
