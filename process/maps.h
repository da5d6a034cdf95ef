/* SPDX-License-Identifier: MIT */
#ifndef PROCESS_MAPS_H
#define PROCESS_MAPS_H

/* What a process has mapped, as proc_pid_maps(5) says. Names are the process's own word. */

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
	const char *path; /* "" if it has none; lives as long as the list */
};

/* By address. All 0 at first. */
struct maps {
	struct mapping *items;
	size_t count, capacity;
	char *text; /* the paths */
};

/*
 * Reads them into an empty list. Returns 0; -ENODATA: there are none, as of a process that has
 * ended and of the kernel's own; or another negative errno.
 */
int maps_read(struct maps *maps, int32_t pid);
void maps_free(struct maps *maps);

/* The mapping that has this address, or NULL. */
const struct mapping *maps_at(const struct maps *maps, uint64_t address);

/* The first mapping of a file whose name begins so, or NULL. */
const struct mapping *maps_named(const struct maps *maps, const char *name);

/* Whether code follows this first page of a file: code of the same file, or code without a file. */
bool maps_begins_module(const struct maps *maps, const struct mapping *mapping);

/* Where the file of a mapping begins in memory. */
uint64_t maps_base(const struct maps *maps, const struct mapping *mapping);

/* The last part of its path. */
const char *mapping_name(const struct mapping *mapping);

/* Whether a file whose name begins so is mapped there. */
bool mapping_is_of(const struct mapping *mapping, const char *name);

/* The data or code of libc or, if or_loader, of the loader. */
bool mapping_is_libc(const struct mapping *mapping, bool or_loader);

/*
 * Opens the file that is mapped for reading: the very file where the kernel lets us (for root
 * alone), else by its path in the root of the process. What the path leads to is looked at before
 * it is opened, and must be a regular file with that inode; layered file systems tell mappings
 * another device than stat(). Returns the descriptor, or -1.
 */
int mapping_open(const struct mapping *mapping, int32_t pid);

/* 1: the process has the file mapped, 0: it has not, or is no more; -EACCES: we may not look. */
int maps_have(int32_t pid, dev_t device, ino_t inode);

#endif
