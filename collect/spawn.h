/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SPAWN_H
#define COLLECT_SPAWN_H

/* Starts our helper programs, which are found beside our own binary, built or installed. */

#include <spawn.h>
#include <sys/types.h>

#define SPAWN_FIRST 3 /* number of the first descriptor that a helper is given */
#define SPAWN_MAX   4

/*
 * Starts a helper with these descriptors and without any other state of ours; argv[0] becomes its
 * name. Every signal can end it. Returns 0 or a positive errno.
 */
int spawn_start(pid_t *pid, const char *name, char **argv, const int *descriptors, int count);

/*
 * Starts a program with an empty signal mask and default signal dispositions. environment: NULL:
 * none. Returns 0 or a positive errno.
 */
int spawn_clean(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		char *const *argv, char *const *environment);

/* Kills a helper that was started, and waits for it. */
void spawn_end(pid_t *pid);

#endif
