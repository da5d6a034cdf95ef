/* SPDX-License-Identifier: MIT */
#ifndef BASE_SANDBOX_H
#define BASE_SANDBOX_H

/*
 * Drops rights of a process before it reads untrusted files. A wall is a kernel mechanism that
 * takes some rights away. Each wall is set up if the kernel supports it; if a wall is missing, the
 * other walls still work, and sandbox_describe() reports the missing wall.
 */

#include <stdbool.h>
#include <stdint.h>

#define SANDBOX_WRITABLE_MAX 4
#define SANDBOX_FILES_MAX    64 /* maximum number of descriptors that the process may have open */

enum sandbox_wall {
	SANDBOX_PRIVILEGES =
		1 << 0,		 /* no_new_privs: executing a set-user-id program adds no rights */
	SANDBOX_FILES = 1 << 1,	 /* Landlock: files are read-only outside listed directories */
	SANDBOX_CALLS = 1 << 2,	 /* seccomp: no exec, no other processes, no sockets */
	SANDBOX_LIMITS = 1 << 3, /* rlimits: descriptors and file size */
};

/*
 * Rights that the process keeps. If all members are zero, the process may read files and write to
 * open descriptors.
 */
struct sandbox_options {
	/* cannot even open files; can only use descriptors that are already open */
	bool opens_nothing;
	bool may_start;	  /* may create child processes and send signals to them */
	bool may_execute; /* may execute programs */
	/*
	 * maximum size of a file that the process writes. 0: no limit if it has `writable` or
	 * may_start; otherwise 256 MiB, or no writing at all if neither Landlock nor seccomp
	 * forbids to open files for writing
	 */
	uint64_t grows_to;
	/* directories in which the process may change files; NULL ends the list */
	const char *writable[SANDBOX_WRITABLE_MAX];
};

/* Drops the rights for good. Returns the walls that are set up. */
unsigned sandbox_enter(const struct sandbox_options *options);

/*
 * Returns the walls that this machine supports. Tries them in a child, so the caller keeps its
 * rights.
 */
unsigned sandbox_probe(void);

/* Calls say() with one line per wall: its effect, whether it is set up, and if not, why. */
void sandbox_describe(unsigned walls, const struct sandbox_options *options,
		      void (*say)(void *context, const char *line), void *context);

#endif
