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
};

#define MAPPING_ACCESS (MAPPING_READ | MAPPING_WRITE | MAPPING_EXECUTE)

struct mapping {
	uint64_t from, to, offset, inode;
	dev_t device;
	unsigned flags;
	const char *path; /* "" if it has none; lives as long as the maps */
};

/* Ascending addresses. All zero before maps_read(). */
struct maps {
	struct mapping *items;
	size_t count, capacity;
	char *text; /* the paths */
};

/*
 * Reads the mappings into an empty list. Returns 0; -ENODATA: the process has none, because it has
 * ended or is the kernel's own; or another negative errno.
 */
int maps_read(struct maps *maps, int32_t pid);
void maps_free(struct maps *maps);

/* The mapping that contains this address, or NULL. */
const struct mapping *maps_at(const struct maps *maps, uint64_t address);

/* The first mapping of a file whose base name begins with name, or NULL. */
const struct mapping *maps_named(const struct maps *maps, const char *name);

/* Whether code follows this first page of a file: code of the file, or without a file. */
bool maps_begins_module(const struct maps *maps, const struct mapping *mapping);

/* The address where the mapping's file begins in memory. */
uint64_t maps_base(const struct maps *maps, const struct mapping *mapping);

/* The base name of its path. */
const char *mapping_name(const struct mapping *mapping);

/* Whether the base name of the mapped file begins with name. */
bool mapping_is_of(const struct mapping *mapping, const char *name);

/* Whether it maps libc or, if or_loader, the dynamic loader. */
bool mapping_is_libc(const struct mapping *mapping, bool or_loader);

/*
 * Opens the mapped file for reading: through /proc/PID/map_files where the kernel allows that (for
 * root only), else by its path below the root of the process. The file at the path is examined
 * before it is opened, and must be a regular file with the same inode number; the device is not
 * compared, because on layered file systems it differs from that of stat(). Returns the descriptor,
 * or -1.
 */
int mapping_open(const struct mapping *mapping, int32_t pid);

/* Does the process map the file? 1: yes; 0: no, or it has ended; -EACCES: we may not know. */
int maps_have(int32_t pid, dev_t device, ino_t inode);

#endif
