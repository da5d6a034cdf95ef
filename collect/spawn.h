/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SPAWN_H
#define COLLECT_SPAWN_H

/*
 * Starts the collector's helper programs. They are in the directory of the collector's own program.
 */

#include <spawn.h>
#include <sys/types.h>

#define SPAWN_FIRST 3 /* number of the helper's first descriptor */
#define SPAWN_MAX   4

/*
 * Starts a helper. The helper inherits these descriptors, but no others, and not the environment.
 * argv[0] is set to the helper's name. The helper can be ended by any signal. Returns 0 or a
 * positive errno.
 */
int spawn_start(pid_t *pid, const char *name, char **argv, const int *descriptors, int count);

/*
 * Starts a program with an empty signal mask and default signal dispositions. environment: NULL for
 * an empty one. Returns 0 or a positive errno.
 */
int spawn_clean(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		char *const *argv, char *const *environment);

/* Kills a helper that was started, and waits for it. */
void spawn_end(pid_t *pid);

#endif
