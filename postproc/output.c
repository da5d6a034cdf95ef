/* SPDX-License-Identifier: MIT */
#include "postproc/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESOLVER "holdtrace-resolve"

extern char **environ;

#define NEW_SUFFIX ".new" /* behind the name until all of the file is there */

static void new_path(const struct output *output, char path[static OUTPUT_PATH_MAX])
{
	char *end = stpcpy(path, output->path);

	memcpy(end, NEW_SUFFIX, sizeof(NEW_SUFFIX));
}

/* DIR/PID-N.SUFFIX with the first free N: nothing is written over. */
static int open_file(struct output *output, const struct trace_process *process, struct error *err)
{
	char path[OUTPUT_PATH_MAX];

	for (unsigned n = 0; n < UINT_MAX; n++) {
		int length = snprintf(output->path, sizeof(output->path), "%s/%" PRIu32 "-%u.%s",
				      output->directory, process->pid, n, output->suffix);

		if (length >= (int)(sizeof(output->path) - sizeof(NEW_SUFFIX)))
			return error_set(err, ENAMETOOLONG, "%s: the name is too long",
					 output->directory);
		if (faccessat(AT_FDCWD, output->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		new_path(output, path);
		output->file =
			open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (output->file >= 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	if (errno == ENOENT || errno == ENOTDIR)
		return error_set(err, errno, "%s: no such directory: make it first",
				 output->directory);
	return error_system(err, errno, "%s: cannot be made", output->path);
}

/* All of the file is there, or it is no good (rc): then nothing stays of it. */
static int finish_file(struct output *output, int rc, struct error *err)
{
	char path[OUTPUT_PATH_MAX];

	new_path(output, path);
	if (rc == 0 && !output->is_spoilt &&
	    renameat2(AT_FDCWD, path, AT_FDCWD, output->path, RENAME_NOREPLACE) != 0 &&
	    (errno != EINVAL || rename(path, output->path) != 0))
		rc = error_system(err, errno, "%s: cannot be given its name", output->path);
	if (rc || output->is_spoilt)
		unlink(path);
	return rc;
}

/* The resolver that was built or installed with us; else PATH's. */
static void find_resolver(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - sizeof(RESOLVER) - 1);
	char *slash;

	if (length > 0) {
		path[length] = '\0';
		slash = strrchr(path, '/');
		if (slash) {
			memcpy(slash + 1, RESOLVER, sizeof(RESOLVER));
			if (access(path, X_OK) == 0)
				return;
		}
	}
	memcpy(path, RESOLVER, sizeof(RESOLVER));
}

static int spawn(struct output *output, int input, struct error *err)
{
	char path[4096], quiet[] = "-q", name[] = RESOLVER;
	char *argv[] = { name, output->is_quiet ? quiet : NULL, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int rc;

	find_resolver(path, sizeof(path));
	rc = posix_spawn_file_actions_init(&actions);
	if (rc)
		return error_system(err, rc, "%s", path);
	posix_spawnattr_init(&attributes);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (output->file >= 0)
		posix_spawn_file_actions_adddup2(&actions, output->file, STDOUT_FILENO);
	rc = posix_spawnp(&output->child, path, &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (rc)
		return error_system(err, rc, "cannot run %s: leave -r out, or install it", path);
	return 0;
}

static int open_resolver(struct output *output, struct error *err)
{
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_system(err, errno, "pipe to " RESOLVER);
	rc = spawn(output, ends[0], err);
	close(ends[0]);
	if (rc) {
		output->child = -1;
		close(ends[1]);
		return rc;
	}
	output->pipe = ends[1];
	return 0;
}

int output_open(struct output *output, const struct trace_process *process, struct error *err)
{
	int fd = STDOUT_FILENO, rc = 0;

	output->file = output->pipe = -1;
	output->child = -1;
	output->is_open = true;
	output->is_spoilt = false;
	memset(&output->out, 0, sizeof(output->out));
	strcpy(output->path, "standard output");
	if (output->directory)
		rc = open_file(output, process, err);
	if (rc == 0 && output->is_resolved)
		rc = open_resolver(output, err);
	if (rc)
		return rc;
	if (output->pipe >= 0)
		fd = output->pipe;
	else if (output->file >= 0)
		fd = output->file;
	return out_open(&output->out, fd, err);
}

int output_error(const struct output *output, struct error *err)
{
	int rc = output->is_open ? out_error(&output->out) : 0;

	if (rc == 0)
		return 0;
	if (rc == -EPIPE)
		return error_set(err, EPIPE, "nobody reads any more");
	return error_system(err, -rc, "%s: cannot write", output->path);
}

static int wait_for_child(struct output *output, struct error *err)
{
	int status;

	if (output->child <= 0)
		return 0;
	while (waitpid(output->child, &status, 0) < 0)
		if (errno != EINTR)
			return error_system(err, errno, "waiting for " RESOLVER);
	output->child = -1;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
		return 0;
	if (WIFSIGNALED(status))
		return error_set(err, EIO, RESOLVER " died of signal %d: run again without -r",
				 WTERMSIG(status));
	if (WEXITSTATUS(status))
		return error_set(err, EIO, RESOLVER " failed with status %d: run again without -r",
				 WEXITSTATUS(status));
	return 0;
}

int output_close(struct output *output, struct error *err)
{
	int rc = 0, child;

	if (!output->is_open)
		return 0;
	if (output->out.buffer) {
		out_close(&output->out);
		rc = output_error(output, err);
	}
	output->is_open = false;
	if (output->pipe >= 0)
		close(output->pipe);
	if (output->file >= 0 && close(output->file) != 0 && rc == 0)
		rc = error_system(err, errno, "%s: cannot write", output->path);
	child = wait_for_child(output, err);
	rc = child ? child : rc;
	if (output->file < 0)
		return rc;
	return finish_file(output, rc, err);
}
