/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_MAPS_H
#define PROCESS_MAPS_H

/* The mappings of a process, as in proc_pid_maps(5). The process itself chooses the names. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum mapping_flag {
	MAPPING_READ = 1,
	MAPPING_WRITE = 2,
	MAPPING_EXECUTE = 4,
	MAPPING_SHARED = 8,
	MAPPING_SPLIT = 16, /* a part of a mapping; see maps_split() */
};

#define MAPPING_ACCESS (MAPPING_READ | MAPPING_WRITE | MAPPING_EXECUTE)

struct mapping {
	uint64_t from, to, offset, inode;
	dev_t device;
	unsigned flags;
	const char *path; /* "" if the mapping has no path; valid until maps_free() */
};

/* The mappings in the order of addresses. The struct must be all zero before maps_read(). */
struct maps {
	struct mapping *items;
	size_t count, capacity;
	char *text; /* the text of /proc/PID/maps, which has the paths */
};

/*
 * Reads the mappings into an empty list. Returns 0, -ENODATA if the process has no mappings (it has
 * ended, or is a thread of the kernel), or another negative errno.
 */
int maps_read(struct maps *maps, int32_t pid);
void maps_free(struct maps *maps);

/*
 * Splits private unnamed mappings at the pages that MADV_GUARD_INSTALL made unreadable. Since glibc
 * 2.43, these pages are the guards of thread stacks, and one mapping may contain several stacks.
 * The list then looks as with an older glibc: each guard is a mapping without access rights. All
 * parts of a mapping that was split have MAPPING_SPLIT. pagemap: a descriptor of /proc/PID/pagemap.
 * If it is -1, or if the kernel cannot list such pages, nothing is split. Returns 0 or -ENOMEM.
 */
int maps_split(struct maps *maps, int pagemap);

/* Returns the mapping that contains this address, or NULL. */
const struct mapping *maps_at(const struct maps *maps, uint64_t address);

/* Returns the first mapping of a file whose base name begins with `name`, or NULL. */
const struct mapping *maps_named(const struct maps *maps, const char *name);

/*
 * Whether a module begins with this mapping: it maps the start of a file, and it or one of the next
 * mappings is executable memory of this file or without a file.
 */
bool maps_begins_module(const struct maps *maps, const struct mapping *mapping);

/* Returns the address at which the mapping's file begins in memory. */
uint64_t maps_base(const struct maps *maps, const struct mapping *mapping);

/* Returns the base name of the mapping's path. */
const char *mapping_name(const struct mapping *mapping);

/* Whether the base name of the mapping's file begins with `name`. */
bool mapping_is_of(const struct mapping *mapping, const char *name);

/* Whether the mapping belongs to libc, or, if or_loader is true, to the dynamic loader. */
bool mapping_is_libc(const struct mapping *mapping, bool or_loader);

/*
 * Opens the mapped file for reading. Uses /proc/PID/map_files if the kernel allows that (only for
 * root), otherwise the file's path below the root of the process. The file at this path is checked
 * before it is opened: it must be a regular file with the same inode number. The device is not
 * compared, because on layered file systems stat() returns another device. Returns the descriptor,
 * or -1.
 */
int mapping_open(const struct mapping *mapping, int32_t pid);

/*
 * Whether the process maps the file. Returns 1 if it does; 0 if it does not, or has ended; -EACCES
 * if this process may not read the mappings.
 */
int maps_have(int32_t pid, dev_t device, ino_t inode);

#endif
