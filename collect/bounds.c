/* SPDX-License-Identifier: MIT */
#include "collect/bounds.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* a stream begins a new section only if its definitions use more than this many bytes */
#define KNOWN_LEAST (128u << 10)
/* bytes of the collector's memory per thread: its reader, entries, and a page of slot and ring */
#define THREAD_BYTES (24u << 10)

struct bound_limits bounds[BOUND_COUNT] = {
#define BOUND(name, of_user, of_others, in_all, what) { of_user, of_others, in_all },
#include "collect/bounds.def"
#undef BOUND
};

static void fit(enum bound bound, uint64_t of_others)
{
	struct bound_limits *limits = &bounds[bound];

	if (of_others < limits->of_others)
		limits->of_others = (uint32_t)of_others;
	if (of_others / 2 < limits->of_user)
		limits->of_user = (uint32_t)of_others / 2;
}

void bounds_fit(uint64_t memory, uint64_t descriptors)
{
	fit(BOUND_THREADS, memory / 8 / THREAD_BYTES);
	fit(BOUND_MEMBERS, descriptors / 3);
}

bool bounds_allow(const struct bounds_used *used, const struct bounds_user *user, enum bound bound,
		  uint32_t count)
{
	const struct bound_limits *limits = &bounds[bound];

	return used->by_all[bound] + count <= limits->in_all &&
	       (user->is_owner || (user->used[bound] + count <= limits->of_user &&
				   used->by_others[bound] + count <= limits->of_others));
}

void bounds_use(struct bounds_used *used, struct bounds_user *user, enum bound bound, int32_t count)
{
	used->by_all[bound] += (uint32_t)count;
	if (!user->is_owner)
		used->by_others[bound] += (uint32_t)count;
	user->used[bound] += (uint32_t)count;
}

void bounds_know(struct bounds_known *known, int32_t streams, int64_t bytes)
{
	for (; known; known = known->above) {
		known->streams += (uint32_t)streams;
		known->bytes += (uint64_t)bytes;
	}
}

bool bounds_knows_too_much(const struct bounds_known *known, uint64_t bytes)
{
	for (; known && bytes > KNOWN_LEAST; known = known->above)
		if (known->bytes > known->most && bytes >= known->bytes / known->streams)
			return true;
	return false;
}

/* ---- the memory of the machine and of control groups ---- */

/* Returns the number in the file, or UINT64_MAX if there is no file, or it has the word "max". */
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

/* Returns the smallest limit of a control group and its parents: all of them apply (cgroups(7)). */
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
 * Stores in `directory` the path of a control group, from its line of /proc/self/cgroup. The line
 * is "0::/path" in version 2 of cgroups and "4:memory:/path" in version 1. Returns the length of
 * the first part of the path, the root of the hierarchy. Returns 0 if the hierarchy does not limit
 * memory, or the path of its root is too long.
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
