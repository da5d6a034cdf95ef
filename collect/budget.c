/* SPDX-License-Identifier: MIT */
#include "collect/budget.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/*
 * Returns the number in a file. Returns UINT64_MAX if the file does not exist, or has the word max
 * instead of a number.
 */
static uint64_t read_limit(const char *directory, const char *name)
{
	char path[2 * PATH_MAX + 32], text[64];
	cleanup_file FILE *file = NULL;
	char *end;
	uint64_t value;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file))
		return UINT64_MAX;
	value = strtoull(text, &end, 10);
	return end == text ? UINT64_MAX : value;
}

/*
 * Returns the smallest limit of the group and its parents up to the root: all of them apply
 * (cgroups(7)).
 */
static uint64_t least_limit(char *directory, size_t root, const char *name)
{
	uint64_t least = UINT64_MAX;

	for (;;) {
		uint64_t limit = read_limit(directory, name);
		char *slash = strrchr(directory, '/');

		if (limit < least)
			least = limit;
		if (!slash || (size_t)(slash - directory) < root)
			return least;
		*slash = '\0';
	}
}

/*
 * Makes the directory of a control group from its line of /proc/self/cgroup. The line is "0::/path"
 * in version 2 and "4:memory:/path" in version 1. Returns the length of the directory's first part,
 * the hierarchy's root. Returns 0 if the line describes a hierarchy that does not limit memory, or
 * the root's path is too long.
 */
static size_t directory_of_line(char *line, const char *mount, char directory[2 * PATH_MAX],
				bool *is_second)
{
	char *kind = strchr(line, ':'), *path = kind ? strchr(kind + 1, ':') : NULL;
	int root;

	if (!path)
		return 0;
	path[strcspn(path, "\n")] = '\0';
	*path++ = '\0';
	*is_second = kind[1] == '\0';
	if (!*is_second && !strstr(kind, "memory"))
		return 0;
	root = snprintf(directory, 2 * PATH_MAX, "%s%s", mount, *is_second ? "" : "/memory");
	if (root < 0 || root >= PATH_MAX)
		return 0;
	snprintf(directory + root, 2 * PATH_MAX - (size_t)root, "%s", path);
	return (size_t)root;
}

uint64_t budget_of_groups(const char *list, const char *mount)
{
	cleanup_file FILE *groups = fopen(list, "re");
	uint64_t least = UINT64_MAX;
	char line[PATH_MAX];

	while (groups && fgets(line, sizeof(line), groups)) {
		char directory[2 * PATH_MAX];
		bool is_second;
		size_t root = directory_of_line(line, mount, directory, &is_second);
		uint64_t limit =
			root ? least_limit(directory, root,
					   is_second ? "memory.max" : "memory.limit_in_bytes")
			     : UINT64_MAX;

		if (limit < least)
			least = limit;
	}
	return least;
}

/*
 * Reads from a file of a control group how many processes the kernel has killed for lack of memory.
 * Returns UINT64_MAX if the kernel does not write this number.
 */
static uint64_t read_kills(const char *directory, const char *name)
{
	char path[2 * PATH_MAX + 32], line[64];
	cleanup_file FILE *file = NULL;
	uint64_t kills;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "oom_kill %" SCNu64, &kills) == 1)
			return kills;
	return UINT64_MAX;
}

uint64_t budget_kills(const char *list, const char *mount)
{
	cleanup_file FILE *groups = fopen(list, "re");
	uint64_t kills = UINT64_MAX;
	char line[PATH_MAX];

	while (kills == UINT64_MAX && groups && fgets(line, sizeof(line), groups)) {
		char directory[2 * PATH_MAX];
		bool is_second;

		if (directory_of_line(line, mount, directory, &is_second))
			kills = read_kills(directory,
					   is_second ? "memory.events" : "memory.oom_control");
	}
	return kills;
}

uint64_t budget_memory(void)
{
	uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t least = budget_of_groups(BUDGET_GROUPS, BUDGET_MOUNT);

	return least < all ? least : all;
}
