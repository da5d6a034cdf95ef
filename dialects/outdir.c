/* SPDX-License-Identifier: MIT */
#include "dialects/outdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"

#define NEW_SUFFIX   ".new"
#define NEW_NAME_MAX 300

/* Opens the directory a second time, to list its files. Returns NULL on failure. */
static DIR *list_names(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);

	if (!list && copy >= 0)
		close(copy);
	return list;
}

static bool is_empty(int fd)
{
	DIR *list = list_names(fd);
	const struct dirent *entry;
	bool found = false;

	if (!list)
		return false;
	while (!found && (entry = readdir(list)) != NULL)
		found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(list);
	return !found;
}

int outdir_open(struct outdir *outdir, const char *path, bool force, struct error *err)
{
	memset(outdir, 0, sizeof(*outdir));
	outdir->was_made = mkdir(path, 0777) == 0;
	if (!outdir->was_made && errno != EEXIST)
		return error_system(err, errno, "%s: cannot create the directory", path);
	outdir->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (outdir->fd < 0)
		return error_system(err, errno, "%s: cannot open the directory", path);
	outdir->path = path;
	if (force || outdir->was_made || is_empty(outdir->fd))
		return 0;
	outdir_close(outdir);
	return error_set(err, EEXIST,
			 "%s: the directory is not empty; name another one, or overwrite its files "
			 "with --force",
			 path);
}

static void new_name(char *to, const char *name)
{
	snprintf(to, NEW_NAME_MAX, "%s" NEW_SUFFIX, name);
}

int outdir_create(struct outdir *outdir, const char *name, struct out *out, struct error *err)
{
	char path[NEW_NAME_MAX], **place = ARRAY_ADD(&outdir->names);
	int fd;

	*place = memory_text(name);
	new_name(path, name);
	unlinkat(outdir->fd, path, 0); /* a run that was killed may have left this file */
	fd = openat(outdir->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return error_system(err, errno, "%s/%s: cannot create the file", outdir->path,
				    name);
	out_open(out, fd);
	return 0;
}

int outdir_finish(struct outdir *outdir, struct out *out, int rc, struct error *err)
{
	int failed = out_close(out);

	if (close(out->fd) < 0 && !failed)
		failed = -errno;
	if (rc || !failed)
		return rc;
	return error_system(err, -failed, "%s/%s: cannot write", outdir->path,
			    outdir->names.items[outdir->names.count - 1]);
}

static bool is_named_so(const char *name, const char *start, const char *end)
{
	size_t length = strlen(name), before = strlen(start), after = strlen(end);

	return length >= before + after && !strncmp(name, start, before) &&
	       !strcmp(name + length - after, end);
}

void outdir_remove(const struct outdir *outdir, const char *start, const char *end)
{
	DIR *list = list_names(outdir->fd);
	const struct dirent *entry;

	if (!list)
		return;
	while ((entry = readdir(list)) != NULL)
		if (is_named_so(entry->d_name, start, end))
			unlinkat(outdir->fd, entry->d_name, 0);
	closedir(list);
}

int outdir_move(const struct outdir *outdir, const struct outdir *to, const char *start,
		const char *end, struct error *err)
{
	DIR *list = list_names(outdir->fd);
	const struct dirent *entry;
	int rc = 0;

	if (!list)
		return error_system(err, errno, "%s: cannot read the directory", outdir->path);
	while (rc == 0 && (entry = readdir(list)) != NULL)
		if (is_named_so(entry->d_name, start, end) &&
		    renameat(outdir->fd, entry->d_name, to->fd, entry->d_name) < 0)
			rc = error_system(err, errno, "%s/%s: cannot move the file to %s",
					  outdir->path, entry->d_name, to->path);
	closedir(list);
	return rc;
}

int outdir_commit(struct outdir *outdir, struct error *err)
{
	char path[NEW_NAME_MAX];

	for (size_t i = 0; i < outdir->names.count; i++) {
		const char *name = outdir->names.items[i];

		new_name(path, name);
		if (renameat(outdir->fd, path, outdir->fd, name) < 0)
			return error_system(err, errno, "%s/%s: cannot rename the finished file",
					    outdir->path, name);
	}
	for (size_t i = 0; i < outdir->names.count; i++)
		free(outdir->names.items[i]);
	outdir->names.count = 0;
	outdir->was_made = false;
	return 0;
}

void outdir_close(struct outdir *outdir)
{
	char path[NEW_NAME_MAX];

	if (!outdir->path)
		return;
	for (size_t i = 0; i < outdir->names.count; i++) {
		new_name(path, outdir->names.items[i]);
		unlinkat(outdir->fd, path, 0);
		free(outdir->names.items[i]);
	}
	free(outdir->names.items);
	close(outdir->fd);
	if (outdir->was_made)
		rmdir(outdir->path);
	outdir->path = NULL;
}
