/* SPDX-License-Identifier: MIT */
#ifndef LOADER_H
#define LOADER_H

/*
 * Symbols of libc and the loader that only some versions of glibc have. A reference to a newer
 * symbol, even a weak one, would make an older loader refuse the library, so these symbols are
 * looked up at the start. glibc 2.35 has _dl_find_object; where it is missing, loader_find() uses a
 * table of its own.
 */

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A loaded module: the members of libc's struct dl_find_object that we use. */
struct loaded {
	const struct link_map *link_map;
	void *map_start, *map_end;
	void *eh_frame; /* the segment PT_GNU_EH_FRAME */
};

/* Pointers to the symbols; NULL: missing. Before glibc 2.34, dlsym and dlvsym were in libdl. */
struct loader {
	int (*find_object)(void *address, void *result);
	void *(*dlsym)(void *handle, const char *name);
	void *(*dlvsym)(void *handle, const char *name, const char *version);
	char *(*dlerror)(void);
	const ptrdiff_t *rseq_offset;
};

extern struct loader loader;

/*
 * libc's flag for a process with one thread (sys/single_threaded.h). Points to 0 before
 * loader_begin(), and if libc lacks the flag. glibc does not count threads that were made by a bare
 * clone(2); glibc's allocator is not safe with such threads either.
 */
extern const char *loader_is_alone;

/* Looks up all symbols; later calls do nothing. */
void loader_begin(void);

/* Finds the module that contains an address. Returns 0, or -1 if no module does. Takes no lock. */
int loader_find(const void *address, struct loaded *found);

/* Finds libc. Returns 0 or -1. */
int loader_find_libc(struct loaded *found);

/*
 * Fills loader_find()'s own table again if modules were loaded or unloaded since the last update.
 * Call this function only within calls by the loader or to dlclose, because it briefly takes the
 * loader's lock. Does nothing where libc has _dl_find_object.
 */
void loader_update(void);

/* Like dlsym and dlvsym; return NULL where libc lacks these functions. */
static inline void *loader_symbol(void *handle, const char *name)
{
	loader_begin();
	return loader.dlsym ? loader.dlsym(handle, name) : NULL;
}

static inline void *loader_version(void *handle, const char *name, const char *version)
{
	loader_begin();
	return loader.dlvsym ? loader.dlvsym(handle, name, version) : NULL;
}

/* Clears the error of a failed look-up, which the program's next dlerror() would return. */
static inline void loader_forget_error(void)
{
	if (loader.dlerror)
		loader.dlerror();
}

#endif
