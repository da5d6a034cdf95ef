/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_BESIDE_H
#define COLLECT_BESIDE_H

/* Starts our helper programs, which are found beside our own binary, built or installed. */

#include <sys/types.h>

#define BESIDE_FIRST 3 /* number of the first descriptor that a helper is given */
#define BESIDE_MOST  4

/*
 * Starts a helper with these descriptors and without any other state of ours; argv[0] becomes its
 * name. Every signal can end it. Returns 0 or a positive errno.
 */
int beside_start(pid_t *pid, const char *name, char **argv, const int *descriptors, int count);

/* Kills a helper that was started, and waits for it. */
void beside_end(pid_t *pid);

#endif
