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

/* Restores what limit_lift() changed. */
void limit_restore(int which, const struct rlimit *before);

/*
 * Sets the size of a memfd; RLIMIT_FSIZE is raised if that is needed and possible: it applies to a
 * memfd, too, and the kernel would refuse and send the program SIGXFSZ. Returns 0 or -errno.
 */
int limit_truncate(int fd, uint64_t size);

#endif
