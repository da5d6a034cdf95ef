/* SPDX-License-Identifier: MIT */
#ifndef BYPASS_H
#define BYPASS_H

/*
 * Modules whose calls pass the stubs by. The loader binds a module's functions to the first that
 * has them, which is this library, but for those that dlopen looks up with RTLD_DEEPBIND: their own
 * libraries come first, and so libc, whose symbols could not be changed (patch_before_deep). What
 * they were bound to stands where they were relocated.
 */

#include <stdbool.h>

struct link_map;

/* A search, and what it found last. */
struct bypass {
	const struct link_map *map; /* the module; NULL before the first and behind the last */
	const struct link_map *next;
	bool is_one;		/* next is the last */
	unsigned int functions; /* hooked ones that it calls past us */
	const char *example;	/* the name of one */
};

/*
 * At the start of the process: the loader has bound what is loaded by now in the order in which it
 * stands, we before libc, so only what comes later can pass by.
 */
void bypass_begin(void);

/*
 * Searches the whole list of the loader, whose lock is not ours to take. So nothing may be unloaded
 * meanwhile: is_held says that the loader holds its modules (it does while it runs destructors);
 * else there is nothing to find but in a process of one thread.
 */
struct bypass bypass_among_all(bool is_held);

/*
 * Searches what dlclose(handle) may unload: that library and, in a process of one thread, what was
 * loaded behind it. handle is believed no more than the loader's own table bears out.
 */
struct bypass bypass_among(const void *handle);

/* The next module that passes by and was not found before; false: there is no more. */
bool bypass_next(struct bypass *bypass);

/* A child of fork tells its own. */
void bypass_forked(void);

#endif
