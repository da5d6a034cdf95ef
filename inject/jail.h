/* SPDX-License-Identifier: MIT */
#ifndef INJECT_JAIL_H
#define INJECT_JAIL_H

/*
 * A program behind a filter of system calls (seccomp) may be killed for what the library asks of
 * the kernel. So its filters are read, and each such call is tried on them, before it is touched.
 */

#include "base/error.h"
#include "inject/remote.h"

/*
 * Whether a stopped thread may make all system calls that the library will, and all others have its
 * filters. Returns 0, or a negative errno with the reason.
 */
int jail_check(const struct remote *remote, struct error *err);

#endif
