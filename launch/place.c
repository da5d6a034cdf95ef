/* SPDX-License-Identifier: MIT */
#include "launch/place.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include "places.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *name, *directory; /* `directory` is relative to the directory of this program */
	int mode;		      /* mode for access(2) */
} parts[] = {
	[PART_LIBRARY] = { "libholdtrace.so", PROGRAM_TO_LIBRARY, R_OK },
	[PART_COLLECTOR] = { "holdtrace-collect", PROGRAM_TO_PARTS, X_OK },
	[PART_INJECTOR] = { "holdtrace-inject", PROGRAM_TO_PARTS, X_OK },
	[PART_LIVE] = { "holdtrace-live", PROGRAM_TO_PARTS, X_OK },
	[PART_VIEW] = { "holdtrace-view", PROGRAM_TO_PARTS, X_OK },
	[PART_PUSH] = { "holdtrace-push", PROGRAM_TO_PARTS, X_OK },
	[PART_POSTPROC] = { "holdtrace-postproc", ".", X_OK },
};

int place_find(enum part part, char **path, struct error *err)
{
	const char *const directories[] = { ".", parts[part].directory };
	const char *called = (const char *)getauxval(AT_EXECFN);
	char own[PATH_MAX], found[PATH_MAX];
	struct stat ours, file;

	*path = NULL;
	/* if /proc is not mounted, use the kernel's copy of the name that was passed to exec */
	if (!realpath("/proc/self/exe", own) && !(called && realpath(called, own)))
		return error_system(err, errno,
				    "cannot find the directory of holdtrace by /proc/self/exe");
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		int length = (int)(strrchr(own, '/') - own);
		cleanup_free char *name =
			memory_format("%.*s/%s/%s", length, own, directories[i], parts[part].name);

		/*
		 * Normally the part was built or installed with this program; but other users may
		 * be able to write to its directory (such as /tmp). So the file must belong to the
		 * program's owner, to root or to this user, and other users must not be able to
		 * write to it.
		 */
		if (access(name, parts[part].mode) == 0 && realpath(name, found) &&
		    stat(own, &ours) == 0 && stat(found, &file) == 0 &&
		    (file.st_uid == ours.st_uid || file.st_uid == 0 || file.st_uid == geteuid()) &&
		    !(file.st_mode & S_IWOTH)) {
			*path = memory_text(found);
			return 0;
		}
	}
	*strrchr(own, '/') = 0;
	return error_set(err, ENOENT, "%s is neither in %s nor in %s/%s: install holdtrace again",
			 parts[part].name, own, own, parts[part].directory);
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
