/* SPDX-License-Identifier: MIT */
#ifndef LIMIT_H
#define LIMIT_H

/* Raises resource limits of this process (RLIMIT_*) for a moment. */

#include <stdint.h>

struct rlimit;

/*
 * Raises a soft limit to the hard limit and stores the old values in *before. Returns the limit
 * that is now in force. A process with several threads keeps its limit: another thread could use
 * the raised limit, or set a limit that limit_restore() would undo.
 */
uint64_t limit_lift(int which, struct rlimit *before);

/* Restores the limit that limit_lift() raised. */
void limit_restore(int which, const struct rlimit *before);

/*
 * Sets the size of a memfd. Raises RLIMIT_FSIZE if that is needed and possible: the limit applies
 * to a memfd, too, and the kernel would refuse the size and send SIGXFSZ to the program. Returns 0
 * or -errno.
 */
int limit_truncate(int fd, uint64_t size);

#endif
