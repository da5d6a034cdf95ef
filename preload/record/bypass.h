/* SPDX-License-Identifier: MIT */
#ifndef BYPASS_H
#define BYPASS_H

/*
 * Modules whose calls bypass the stubs. The loader binds a call to the first module that defines
 * the function, which is this library. But for a library that is opened with RTLD_DEEPBIND, its own
 * dependencies come first, including libc, whose symbols could not be changed (patch_before_deep).
 * The values of its relocations show where its calls lead.
 */

#include <stdbool.h>

struct link_map;

/* A search and its last result. */
struct bypass {
	const struct link_map *map; /* the module; NULL before the first and after the last */
	const struct link_map *next;
	bool is_one;		/* next is the last one */
	unsigned int functions; /* hooked functions that the module calls past their stubs */
	const char *example;	/* the name of one of them */
};

/*
 * Called at the start of the process: the loader has bound all modules loaded so far in link order,
 * with this library before libc, so only later modules can bypass it.
 */
void bypass_begin(void);

/*
 * Searches the loader's whole list. We cannot take the loader's lock, so nothing may be unloaded in
 * the meantime: either is_held says that the loader keeps its modules (while it runs destructors),
 * or the process must have one thread; otherwise the search finds nothing.
 */
struct bypass bypass_among_all(bool is_held);

/*
 * Searches the libraries that dlclose(handle) may unload: that library and, in a process with one
 * thread, those loaded after it. handle is used only if the loader's own table knows it.
 */
struct bypass bypass_among(const void *handle);

/*
 * Finds the next module that bypasses the stubs and was not reported before. Returns false at the
 * end.
 */
bool bypass_next(struct bypass *bypass);

/* A child of fork reports them again. */
void bypass_forked(void);

#endif
