/* SPDX-License-Identifier: MIT */
#ifndef FACTS_H
#define FACTS_H

/* Facts about the process, besides its calls: notes, modules, and the extent of its heap. */

#include <stdbool.h>

#include "preload/walk/maps.h"
#include "thread.h"

/* Stores the heap's start, which is slow to read later. Call before all other functions here. */
void facts_begin(void);

/* Reports executable, arguments, directory, and inherited descriptors. */
void facts_tell_process(int argc, char **argv);

struct late_order;

/* Writes an ~attached note: threads, memory and age of the process at the attach. */
void facts_tell_attached(const struct late_order *order);

/* At exit: reports the extent of brk(2)'s heap. */
void facts_tell_heap(void);

/* Within a dlclose: writes a ~unmap note for each module unloaded since the last call. */
void facts_tell_gone(void);

/*
 * Write a ~bypass note for each module whose calls of hooked functions bypass the stubs, unless the
 * module was reported before. facts_tell_bypass_of() examines the modules that dlclose(library) may
 * unload. facts_tell_bypass() examines all modules, if the loader unloads none now (is_held) or
 * there is only one thread. Both do nothing in a child of vfork.
 */
void facts_tell_bypass_of(const void *library);
void facts_tell_bypass(bool is_held);

/*
 * Within a call, before its event: write a ~file note with the path and size of a file.
 * facts_tell_file() describes the file of a descriptor. facts_tell_link() describes the file, if it
 * exists, that the new symbolic link `path` leads to.
 */
void facts_tell_file(int fd);
void facts_tell_link(int dirfd, const char *path);

/* At the start with --unwind=libunwind: writes an ~unwind note on whether libunwind was found. */
void facts_tell_walker(bool is_there);

/* At the start: writes an ~allocator note about a function in a plan of patches (patches.h). */
struct link_map;
void facts_tell_allocator(const char *function, const struct link_map *map,
			  enum patch_reason reason);

/* Writes a module's record (`number` becomes record.more). Returns whether there was space. */
bool facts_tell_module(struct thread *thread, uint16_t number, uint64_t time,
		       const struct module *module);

/* Reports modules that were not reported yet, before an event that has frames in them. */
void facts_tell_modules(struct thread *thread, uint64_t time);

/*
 * Writes a ~python note: the process has CPython 3.minor (0: not known yet; -1: a version or build
 * whose frames we cannot read). frames, objects: as in notes.def.
 */
void facts_tell_python(int minor, const char *frames, const char *objects,
		       const struct maps_python *found);

/* Reports the addresses of the hooks' real functions, which only the collector uses. */
void facts_tell_functions(void);

/*
 * Report the calling thread's start, and its end after its start routine has returned or was
 * unwound. creator, call: id of the thread and number of the call that created it; 0: unknown.
 */
void facts_tell_thread(int32_t creator, uint64_t call);
void facts_tell_thread_end(void);

#endif
