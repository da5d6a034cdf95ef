/* SPDX-License-Identifier: MIT */
#ifndef COLLECT_SPAWN_H
#define COLLECT_SPAWN_H

/* Starts the collector's helper programs, which are in the same directory as the collector. */

#include <spawn.h>
#include <sys/types.h>

#define SPAWN_FIRST 3 /* number of the helper's first descriptor */
#define SPAWN_MAX   4

/*
 * Starts a helper. The helper inherits `descriptors` and no other descriptors, and its environment
 * is empty. Sets argv[0] to the helper's name. The helper starts with no signals blocked or
 * ignored. Returns 0 or a positive errno.
 */
int spawn_start(pid_t *pid, const char *name, char **argv, const int *descriptors, int count);

/*
 * Starts a program with an empty signal mask and default signal dispositions. environment: NULL for
 * an empty one. Returns 0 or a positive errno.
 */
int spawn_clean(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		char *const *argv, char *const *environment);

/*
 * Kills a helper that was started, and waits for it. Returns its status as waitpid() does: if the
 * helper had already begun to end, the status of its own end.
 */
int spawn_end(pid_t *pid);

#endif
