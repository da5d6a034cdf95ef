/* SPDX-License-Identifier: MIT */
#include "collect/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int spawn_clean(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		char *const *argv, char *const *environment)
{
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int rc;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawn(pid, path, actions, &attributes, argv, environment);
	posix_spawnattr_destroy(&attributes);
	return rc;
}

int spawn_start(pid_t *pid, const char *name, char **argv, const int *descriptors, int count)
{
	char path[PATH_MAX];
	posix_spawn_file_actions_t actions;
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int given[SPAWN_MAX];
	int rc = 0;
	char *slash;

	path[length > 0 ? length : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash && (size_t)(slash + 1 - path) + strlen(name) < sizeof(path))
		strcpy(slash + 1, name);
	else
		rc = ENOENT;

	/* first duplicate the descriptors to numbers that the helper does not use */
	for (int i = 0; i < count; i++) {
		given[i] = fcntl(descriptors[i], F_DUPFD_CLOEXEC, SPAWN_FIRST + SPAWN_MAX);
		if (given[i] < 0)
			rc = errno;
	}
	argv[0] = (char *)(uintptr_t)name;
	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < count; i++)
		posix_spawn_file_actions_adddup2(&actions, given[i], SPAWN_FIRST + i);
	if (!rc)
		rc = spawn_clean(pid, path, &actions, argv, NULL);
	posix_spawn_file_actions_destroy(&actions);
	for (int i = 0; i < count; i++)
		if (given[i] >= 0)
			close(given[i]);
	return rc;
}

int spawn_end(pid_t *pid)
{
	int status = 0;

	if (*pid > 0) {
		kill(*pid, SIGKILL);
		while (waitpid(*pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	*pid = 0;
	return status;
}
