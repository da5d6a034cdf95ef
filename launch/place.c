/* SPDX-License-Identifier: MIT */
#include "launch/place.h"

#include "base/memory.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *name, *directory;
	int mode; /* for access(2) */
} parts[] = {
	[PART_LIBRARY] = { "libholdtrace.so", PKGLIBDIR, R_OK },
	[PART_COLLECTOR] = { "holdtrace-collect", PKGLIBEXECDIR, X_OK },
	[PART_INJECTOR] = { "holdtrace-inject", PKGLIBEXECDIR, X_OK },
	[PART_LIVE] = { "holdtrace-live", PKGLIBEXECDIR, X_OK },
	[PART_VIEW] = { "holdtrace-view", PKGLIBEXECDIR, X_OK },
	[PART_POSTPROC] = { "holdtrace-postproc", BINDIR, X_OK },
};

/*
 * Whether a file in the directory of this program can be trusted. It was built or installed with
 * the program, unless other users can write to that directory (such as /tmp). So the file must
 * belong to the program's owner, to root or to this user, and other users must not be able to write
 * to it.
 */
static bool is_ours(const char *path)
{
	struct stat own, found;

	return stat("/proc/self/exe", &own) == 0 && stat(path, &found) == 0 &&
	       (found.st_uid == own.st_uid || found.st_uid == 0 || found.st_uid == geteuid()) &&
	       !(found.st_mode & S_IWOTH);
}

int place_find(enum part part, char **path, struct error *err)
{
	char own[PATH_MAX] = "";
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (length > 0) {
		*strrchr(own, '/') = 0;
		*path = memory_format("%s/%s", own, parts[part].name);
		if (access(*path, parts[part].mode) == 0 && is_ours(*path))
			return 0;
		free(*path);
	}
	*path = memory_format("%s/%s", parts[part].directory, parts[part].name);
	if (access(*path, parts[part].mode) == 0)
		return 0;
	free(*path);
	*path = NULL;
	if (length <= 0)
		return error_set(
			err, ENOENT,
			"%s is not in %s, and the directory of holdtrace is unknown: /proc "
			"is not mounted",
			parts[part].name, parts[part].directory);
	return error_set(err, ENOENT, "%s is neither in %s nor in %s: install holdtrace again",
			 parts[part].name, own, parts[part].directory);
}

/* Returns 0 if `path` is a file that can be executed, else a negative errno. */
static int check_program(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	return access(path, X_OK) ? -errno : 0;
}

/*
 * Searches PATH as execvp(3) does. Skips files that cannot be executed; if only such files are
 * found, returns -EACCES.
 */
static int search_path(const char *word, char **path)
{
	const char *list = getenv("PATH");
	int result = -ENOENT;

	for (const char *at = list ? list : "/bin:/usr/bin";; at++) {
		size_t length = strcspn(at, ":");
		int status;

		*path = memory_format("%.*s%s%s", (int)length, at, length ? "/" : "./", word);
		status = check_program(*path);
		if (!status)
			return 0;
		free(*path);
		*path = NULL;
		if (status == -EACCES)
			result = status;
		at += length;
		if (!*at)
			return result;
	}
}

int place_program(const char *word, char **path, struct error *err)
{
	int status;

	*path = NULL;
	if (!*word)
		return error_set(err, ENOENT, "the name of the program is empty");
	if (strchr(word, '/')) {
		*path = memory_text(word);
		status = check_program(*path);
	} else {
		status = search_path(word, path);
	}
	if (!status)
		return 0;
	free(*path);
	*path = NULL;
	return error_system(err, -status, "%s: cannot be run", word);
}
