/* SPDX-License-Identifier: MIT */
#ifndef BASE_SANDBOX_H
#define BASE_SANDBOX_H

/*
 * What a process gives up before it reads files that others made. Each wall stands where the system
 * has it; where one is missing the others hold, and sandbox_describe() says so.
 */

#include <stdbool.h>

#define SANDBOX_WRITABLE_MAX 4
#define SANDBOX_FILES_MAX    64 /* descriptors */

enum sandbox_wall {
	SANDBOX_PRIVILEGES = 1 << 0, /* no_new_privs: no set-id program gives any back */
	SANDBOX_FILES = 1 << 1,	     /* Landlock: files are read, and written only where wished */
	SANDBOX_CALLS = 1 << 2,	     /* seccomp: no programs, no other processes, no sockets */
	SANDBOX_LIMITS = 1 << 3,     /* limits on descriptors and on what is written */
};

/* What is needed nevertheless. All false: reading files, and answering over what is open. */
struct sandbox_wish {
	bool opens_nothing; /* not even to read: files in memory alone, and what is handed over */
	bool may_start;	    /* children, and signals to them */
	bool may_execute;   /* programs */
	bool may_grow;	    /* files that are open, without a bound */
	const char *writable[SANDBOX_WRITABLE_MAX]; /* directories, NULL behind the last */
};

/* Goes in, for ever. Returns the walls that stand. */
unsigned sandbox_enter(const struct sandbox_wish *wish);

/* Which walls stand here for a child that wishes for nothing; the caller stays as it is. */
unsigned sandbox_probe(void);

/* One line for each wall: what it keeps with this wish, and where it does not stand why. */
void sandbox_describe(unsigned walls, const struct sandbox_wish *wish,
		      void (*say)(void *context, const char *line), void *context);

#endif
