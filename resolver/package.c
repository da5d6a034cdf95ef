/* SPDX-License-Identifier: MIT */
#include "resolver/package.h"

#include "base/cleanup.h"
#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define LISTS "/var/lib/dpkg/info"

static DIR *open_lists(const char *root)
{
	cleanup_free char *path = memory_format("%s%s", root ? root : "", LISTS);

	return path ? opendir(path) : NULL;
}

bool package_is_debian(const char *root)
{
	DIR *lists = open_lists(root);

	if (lists)
		closedir(lists);
	return lists != NULL;
}

/* Does any line of text equal path? */
static bool has_line(const char *text, size_t size, const char *path, size_t length)
{
	const char *end = text + size, *at = text;

	while ((at = memmem(at, (size_t)(end - at), path, length)) != NULL) {
		if ((at == text || at[-1] == '\n') && (at + length == end || at[length] == '\n'))
			return true;
		at++;
	}
	return false;
}

static bool list_has(int directory, const char *name, const char *const *paths)
{
	cleanup_fd int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	bool found = false;
	char *text;

	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
		return false;
	text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return false;
	for (; *paths && !found; paths++)
		found = has_line(text, (size_t)status.st_size, *paths, strlen(*paths));
	munmap(text, (size_t)status.st_size);
	return found;
}

/* NAME of NAME.list or NAME:ARCHITECTURE.list, or NULL. */
static char *name_of(const char *file)
{
	const char *end = strrchr(file, '.'), *colon = strchr(file, ':');

	if (!end || strcmp(end, ".list") != 0)
		return NULL;
	return memory_text_part(file, (size_t)((colon && colon < end ? colon : end) - file));
}

char *package_of(const char *root, const char *path)
{
	cleanup_free char *merged = NULL;
	/* Where /lib is a symbolic link to /usr/lib, lists may have either path. */
	const char *paths[] = { path, NULL, NULL };
	DIR *lists = path[0] == '/' ? open_lists(root) : NULL;
	struct dirent *file;
	char *name = NULL;

	if (!lists)
		return NULL;
	if (strncmp(path, "/usr/", 5) == 0)
		paths[1] = path + 4;
	else
		paths[1] = merged = memory_format("/usr%s", path);
	while (!name && (file = readdir(lists)) != NULL) {
		name = name_of(file->d_name);
		if (name && !list_has(dirfd(lists), file->d_name, paths)) {
			free(name);
			name = NULL;
		}
	}
	closedir(lists);
	return name;
}
