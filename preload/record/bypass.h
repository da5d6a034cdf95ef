/* SPDX-License-Identifier: MIT */
#ifndef BYPASS_H
#define BYPASS_H

/*
 * Modules whose calls bypass the stubs. The loader normally binds a call to the first module that
 * defines the function, which is this library. But a library that is opened with RTLD_DEEPBIND
 * looks first in its own dependencies, including libc. So the calls of such a library bypass the
 * stubs if patch_before_deep() could not change libc's symbols. The relocated words of the library
 * show where its calls lead. The search also finds libraries that were loaded later and contain an
 * allocator for which there was no plan of patches (patches.h).
 */

#include <stdbool.h>

struct link_map;

/* A module that bypasses the stubs, or has an allocator whose names have a prefix (je_malloc). */
struct bypass {
	const struct link_map *map;
	/* number of hooked functions that the module calls without their stubs */
	unsigned int functions;
	const char *example; /* name of a function that is called without its stub */
	/* name of a malloc with a prefix, whose calls are not recorded; NULL: none */
	const char *allocator;
};

/* Whether hand_allocators.c reported the functions of the module's allocator; NULL: it did not. */
extern bool (*bypass_knows)(const struct link_map *map);

/*
 * Called at the start of the process. By then the loader has bound all loaded modules in link
 * order, with this library before libc, so only modules that are loaded later can bypass the stubs.
 */
void bypass_begin(void);

/*
 * Searches the loader's whole list, and calls tell() for each module that was not reported before.
 * The library cannot take the loader's lock. So it searches only while no module can be unloaded:
 * the loader is running destructors (is_held), or the process has only one thread. Otherwise the
 * search finds nothing.
 */
void bypass_search_all(bool is_held, void (*tell)(const struct bypass *bypass));

/*
 * Searches the libraries that dlclose(handle) may unload: the library of the handle and, in a
 * process with one thread, the libraries loaded after it. The handle is used only if the loader's
 * own table contains it.
 */
void bypass_search(const void *handle, void (*tell)(const struct bypass *bypass));

/* Forgets which modules were reported, so that a child of fork reports them again. */
void bypass_forked(void);

#endif
