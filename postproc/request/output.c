/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESOLVER "holdtrace-resolve"

extern char **environ;

#define NEW_SUFFIX ".new" /* suffix of the file name while the file is incomplete */

/* Creates DIR/PID-N.SUFFIX with the first N for which no file exists yet. */
static int open_file(struct output *output, const struct trace_process *process, struct error *err)
{
	for (unsigned n = 0; n < UINT_MAX; n++) {
		int length = snprintf(output->path, sizeof(output->path), "%s/%" PRIu32 "-%u.%s",
				      output->directory, process->pid, n, output->suffix);

		if (length >= (int)(sizeof(output->path) - sizeof(NEW_SUFFIX)))
			return error_set(err, ENAMETOOLONG, "%s: the name is too long",
					 output->directory);
		if (faccessat(AT_FDCWD, output->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		memcpy(stpcpy(output->fresh, output->path), NEW_SUFFIX, sizeof(NEW_SUFFIX));
		output->file = open(output->fresh,
				    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		output->is_fresh = output->file >= 0;
		if (output->is_fresh)
			return 0;
		if (errno != EEXIST)
			break;
	}
	if (errno == ENOENT || errno == ENOTDIR)
		return error_set(err, errno, "%s: no such directory: create it first",
				 output->directory);
	return error_system(err, errno, "%s: cannot be created", output->path);
}

/*
 * Gives the complete file its final name. Unless is_over is set, does not overwrite a file that was
 * created since the output was opened: uses renameat2(). If the file system does not support
 * renameat2(), uses link(); if it does not support links either, checks before rename().
 */
static bool give_name(const struct output *output)
{
	if (output->is_over)
		return rename(output->fresh, output->path) == 0;
	if (renameat2(AT_FDCWD, output->fresh, AT_FDCWD, output->path, RENAME_NOREPLACE) == 0)
		return true;
	if (errno != EINVAL)
		return false;
	if (link(output->fresh, output->path) == 0)
		return unlink(output->fresh) == 0;
	if (errno == EEXIST || faccessat(AT_FDCWD, output->path, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return false;
	}
	return rename(output->fresh, output->path) == 0;
}

/*
 * Sets `path` to the resolver in the directory of this program. If there is none, sets `path` to
 * the resolver's bare name, which posix_spawnp() searches in PATH.
 */
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
		return error_system(err, rc, "cannot run %s: install it, or remove -r", path);
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

/* Resets the members of an open output. It is standard output until a file is opened. */
static void begin(struct output *output)
{
	output->file = output->pipe = -1;
	output->child = -1;
	output->is_open = true;
	output->is_spoilt = output->is_over = false;
	output->is_fresh = 0;
	memset(&output->out, 0, sizeof(output->out));
	strcpy(output->path, "standard output");
	output->fresh[0] = '\0';
}

int output_open(struct output *output, const struct trace_process *process, struct error *err)
{
	int fd = STDOUT_FILENO, rc = 0;

	begin(output);
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
	out_open(&output->out, fd);
	return 0;
}

void output_drop(const struct output *output)
{
	if (output->is_fresh)
		unlink(output->fresh);
}

bool output_is_named(const char *path)
{
	return path && strcmp(path, "-") != 0 && strcmp(path, "stdout") != 0 &&
	       strcmp(path, "/dev/stdout") != 0;
}

/*
 * Creates a temporary file in the directory of output->path, so that it can be renamed later.
 * Refuses to replace a symbolic link (/dev/fd/1).
 */
static int open_fresh(struct output *output, struct error *err)
{
	struct stat facts;
	bool is_there = lstat(output->path, &facts) == 0;

	if (is_there && S_ISLNK(facts.st_mode))
		return error_set(err, EEXIST, "%s: is a symbolic link: name the file itself",
				 output->path);
	if (is_there && !output->is_over)
		return error_set(err, EEXIST, "%s: exists already: add -f to replace it",
				 output->path);
	memcpy(stpcpy(output->fresh, output->path), ".XXXXXX", sizeof(".XXXXXX"));
	output->file = mkostemp(output->fresh, O_CLOEXEC);
	output->is_fresh = output->file >= 0;
	if (output->is_fresh)
		return 0;
	output->fresh[0] = '\0';
	return error_system(err, errno, "%s: cannot be created", output->path);
}

int output_open_file(struct output *output, const char *path, bool is_over, struct error *err)
{
	struct stat facts;
	int rc = 0;

	begin(output);
	if (!output_is_named(path)) {
		out_open(&output->out, STDOUT_FILENO);
		return 0;
	}
	output->is_over = is_over;
	if (!*path)
		return error_set(err, EINVAL, "-o needs the name of a file");
	if (strlen(path) >= sizeof(output->path) - sizeof(".XXXXXX"))
		return error_set(err, ENAMETOOLONG, "%s: the name is too long", path);
	strcpy(output->path, path);
	if (stat(path, &facts) != 0 || S_ISREG(facts.st_mode)) {
		rc = open_fresh(output, err);
	} else if (S_ISDIR(facts.st_mode)) {
		rc = error_set(err, EISDIR, "%s: is a directory: name a file in it", path);
	} else {
		output->file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		if (output->file < 0)
			rc = error_system(err, errno, "%s: cannot open for writing", path);
	}
	if (!rc)
		out_open(&output->out, output->file);
	return rc;
}

int output_error(const struct output *output, struct error *err)
{
	int rc = output->is_open ? out_error(&output->out) : 0;

	if (rc == 0)
		return 0;
	if (rc == -EPIPE)
		return error_set(err, EPIPE, "the reader has closed the pipe");
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
		return error_set(err, EIO,
				 RESOLVER " was killed by signal %d: run again without -r",
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
	if (output->file < 0 || !*output->fresh)
		return rc;
	if (rc == 0 && !output->is_spoilt && !give_name(output))
		rc = error_system(err, errno, "%s: cannot rename the file to its final name",
				  output->path);
	if (rc || output->is_spoilt)
		unlink(output->fresh);
	output->is_fresh = 0;
	return rc;
}
