/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SPAWN_H
#define COLLECT_SPAWN_H

/* Starts our helper programs, which are found beside our own binary, built or installed. */

#include <sys/types.h>

#define SPAWN_FIRST 3 /* number of the first descriptor that a helper is given */
#define SPAWN_MAX   4

/*
 * Starts a helper with these descriptors and without any other state of ours; argv[0] becomes its
 * name. Every signal can end it. Returns 0 or a positive errno.
 */
int spawn_start(pid_t *pid, const char *name, char **argv, const int *descriptors, int count);

/* Kills a helper that was started, and waits for it. */
void spawn_end(pid_t *pid);

#endif
