/* SPDX-License-Identifier: MIT */
#ifndef BASE_SANDBOX_H
#define BASE_SANDBOX_H

/*
 * The rights that a process drops before it reads untrusted files. Each wall is set up where the
 * kernel supports it; if one is missing the others still hold, and sandbox_describe() says so.
 */

#include <stdbool.h>

#define SANDBOX_WRITABLE_MAX 4
#define SANDBOX_FILES_MAX    64 /* descriptors */

enum sandbox_wall {
	SANDBOX_PRIVILEGES = 1 << 0, /* no_new_privs: set-user-id programs do not raise rights */
	SANDBOX_FILES = 1 << 1,	     /* Landlock: reads files, writes only in listed directories */
	SANDBOX_CALLS = 1 << 2,	     /* seccomp: no exec, no other processes, no sockets */
	SANDBOX_LIMITS = 1 << 3,     /* rlimits: descriptors and file size */
};

/* Rights that the process keeps. All false: it may read files, and write to open descriptors. */
struct sandbox_options {
	bool opens_nothing; /* opens no files at all: uses memory and open descriptors */
	bool may_start;	    /* may start children and send them signals */
	bool may_execute;   /* may execute programs */
	bool may_grow;	    /* may write to open files without a size limit */
	const char *writable[SANDBOX_WRITABLE_MAX]; /* directories, ends with NULL */
};

/* Drops the rights for good. Returns the walls that are set up. */
unsigned sandbox_enter(const struct sandbox_options *options);

/*
 * Returns the walls that a child with no extra rights can set up here; the caller keeps its rights.
 */
unsigned sandbox_probe(void);

/* Calls say() with one line per wall: what it prevents, and if it is missing the reason. */
void sandbox_describe(unsigned walls, const struct sandbox_options *options,
		      void (*say)(void *context, const char *line), void *context);

#endif
