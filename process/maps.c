/* SPDX-License-Identifier: MIT */
#include "process/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "process/pagemap.h"
#include "process/proc.h"

#define GUARDS 64 /* maximum number of regions that one request returns */

int maps_read(struct maps *maps, int32_t pid)
{
	char *text = proc_text(pid, 0, "maps");
	cleanup_free int32_t *threads = NULL;
	size_t count = 0;

	if (text && !*text)
		threads = proc_threads(pid, &count);
	for (size_t i = 0; i < count && !(text && *text); i++) {
		free(text);
		text = proc_text(pid, threads[i], "maps");
	}

	maps->text = text;
	if (!maps->text)
		return -errno;
	for (char *line = maps->text, *next; *line; line = next) {
		size_t length = strcspn(line, "\n");
		struct mapping mapping, *place;
		unsigned high, low;
		char access[5];
		int path = 0;

		next = line + length + (line[length] == '\n');
		/* end the line, because sscanf() measures its whole input in each call */
		line[length] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n",
			   &mapping.from, &mapping.to, access, &mapping.offset, &high, &low,
			   &mapping.inode, &path) < 7 ||
		    mapping.from >= mapping.to)
			continue;
		mapping.device = makedev(high, low);
		mapping.path = path ? line + path : line + length;
		mapping.flags = (access[0] == 'r' ? MAPPING_READ : 0u) |
				(access[1] == 'w' ? MAPPING_WRITE : 0u) |
				(access[2] == 'x' ? MAPPING_EXECUTE : 0u) |
				(access[3] == 's' ? MAPPING_SHARED : 0u);
		place = ARRAY_ADD(maps);
		if (!place)
			return -ENOMEM;
		*place = mapping;
	}
	return maps->count ? 0 : -ENODATA;
}

void maps_free(struct maps *maps)
{
	free(maps->items);
	free(maps->text);
	*maps = (struct maps){ 0 };
}

static int add_part(struct maps *split, const struct mapping *of, uint64_t from, uint64_t to,
		    unsigned flags)
{
	struct mapping *place = from < to ? ARRAY_ADD(split) : NULL;

	if (from >= to)
		return 0;
	if (!place)
		return -ENOMEM;
	*place = *of;
	place->from = from;
	place->to = to;
	place->flags = flags;
	return 0;
}

/* Adds a mapping to `split`; or its parts, if it contains guard pages. */
static int split_mapping(struct maps *split, const struct mapping *mapping, int pagemap)
{
	struct pagemap_region guards[GUARDS];
	struct pagemap_scan scan = { .size = sizeof(scan),
				     .start = mapping->from,
				     .end = mapping->to,
				     .regions = (uintptr_t)guards,
				     .region_count = GUARDS,
				     .any_of = PAGEMAP_GUARD,
				     .wanted = PAGEMAP_GUARD };
	unsigned flags = mapping->flags;
	int count = *mapping->path || flags & MAPPING_SHARED ? 0 : GUARDS;
	int rc = 0;

	while (!rc && count == GUARDS && scan.start < scan.end) {
		count = ioctl(pagemap, PAGEMAP_REQUEST, &scan);
		for (int i = 0; !rc && i < count; i++) {
			flags |= MAPPING_SPLIT;
			rc = add_part(split, mapping, scan.start, guards[i].start, flags)
				     ?: add_part(split, mapping, guards[i].start, guards[i].end,
						 MAPPING_SPLIT);
			scan.start = guards[i].end;
		}
	}
	return rc ?: add_part(split, mapping, scan.start, scan.end, flags);
}

int maps_split(struct maps *maps, int pagemap)
{
	struct maps split = { .text = maps->text };
	int rc = 0;

	for (size_t i = 0; !rc && i < maps->count; i++)
		rc = split_mapping(&split, &maps->items[i], pagemap);
	free(rc ? split.items : maps->items);
	if (!rc)
		*maps = split;
	return rc;
}

const struct mapping *maps_at(const struct maps *maps, uint64_t address)
{
	size_t found = ARRAY_SEARCH(maps->count, at, maps->items[at].to <= address);

	return found < maps->count && maps->items[found].from <= address ? &maps->items[found]
									 : NULL;
}

const struct mapping *maps_named(const struct maps *maps, const char *name)
{
	for (size_t i = 0; i < maps->count; i++)
		if (mapping_is_of(&maps->items[i], name))
			return &maps->items[i];
	return NULL;
}

/*
 * Executable memory without a file counts, too: a program may map generated code over the code of
 * its file.
 */
bool maps_begins_module(const struct maps *maps, const struct mapping *mapping)
{
	if (!mapping->inode || mapping->offset || !strncmp(mapping->path, "/dev/", 5))
		return false;
	for (const struct mapping *at = mapping; at < maps->items + maps->count; at++) {
		if (at->inode && (at->inode != mapping->inode || at->device != mapping->device))
			break;
		if (at->flags & MAPPING_EXECUTE)
			return true;
	}
	return false;
}

uint64_t maps_base(const struct maps *maps, const struct mapping *mapping)
{
	for (const struct mapping *at = mapping; at >= maps->items; at--)
		if (!at->offset && at->inode == mapping->inode && at->device == mapping->device)
			return at->from;
	return mapping->from - mapping->offset;
}

const char *mapping_name(const struct mapping *mapping)
{
	const char *slash = strrchr(mapping->path, '/');

	return slash ? slash + 1 : mapping->path;
}

bool mapping_is_of(const struct mapping *mapping, const char *name)
{
	const char *slash = strrchr(mapping->path, '/');

	return slash && !strncmp(slash + 1, name, strlen(name));
}

bool mapping_is_libc(const struct mapping *mapping, bool or_loader)
{
	return mapping_is_of(mapping, "libc.so.6") || mapping_is_of(mapping, "libc-2.") ||
	       (or_loader && mapping_is_of(mapping, "ld-"));
}

int mapping_open(const struct mapping *mapping, int32_t pid)
{
	char path[PATH_MAX + 32];
	struct stat status;
	bool is_exact = true;

	if (!mapping->inode)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
		 mapping->from, mapping->to);
	cleanup_fd int place = open(path, O_PATH | O_CLOEXEC);

	if (place < 0) {
		is_exact = false;
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, mapping->path);
		place = open(path, O_PATH | O_CLOEXEC);
	}
	if (place < 0 || fstat(place, &status) || !S_ISREG(status.st_mode) ||
	    (!is_exact && status.st_ino != mapping->inode))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

/* Reads line by line, since a process may have any number of mappings. */
int maps_have(int32_t pid, dev_t device, ino_t inode)
{
	int fd = proc_open(pid, 0, "maps");
	cleanup_file FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512];

	if (!file)
		return errno == ENOENT || errno == ESRCH ? 0 : -EACCES;
	while (fgets(line, sizeof(line), file)) {
		unsigned high, low;
		unsigned long number;

		/* if a path is longer than the buffer, the rest of the line does not match */
		if (sscanf(line, "%*x-%*x %*4s %*x %x:%x %lu", &high, &low, &number) == 3 &&
		    number == inode && high == major(device) && low == minor(device))
			return 1;
	}
	return ferror(file) ? -EACCES : 0;
}
