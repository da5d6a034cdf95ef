/* SPDX-License-Identifier: MIT */
#ifndef FACTS_H
#define FACTS_H

/*
 * What a process reports about itself besides its calls: notes, modules and the extent of its heap.
 */

#include <stdbool.h>

#include "preload/walk/maps.h"
#include "thread.h"

/* Called first of all: remembers what would later need a system call. */
void facts_begin(void);

/* Reports executable, arguments, directory, and inherited descriptors. */
void facts_tell_process(int argc, char **argv);

struct late_order;

/* In a process that ran before the attach: writes a ~attached note with what it had by then. */
void facts_tell_attached(const struct late_order *order);

/* At exit: reports the extent of brk(2)'s heap. */
void facts_tell_heap(void);

/*
 * Within a call of dlclose: writes a ~unmap note for each module that was unloaded since the last
 * one.
 */
void facts_tell_gone(void);

/*
 * Write a ~bypass note for each module that calls hooked functions past their stubs and was not
 * reported before. The first looks at modules that dlclose(library) may unload; the second at all
 * modules, if the loader keeps them (is_held) or there is one thread. Neither does anything in a
 * child of vfork.
 */
void facts_tell_bypass_of(const void *library);
void facts_tell_bypass(bool is_held);

/*
 * Within a call, before its event: write a ~file note with path and size of the file that a
 * descriptor refers to, or to which a new symbolic link leads, if the file exists.
 */
void facts_tell_file(int fd);
void facts_tell_link(int dirfd, const char *path);

/*
 * At the start, if libunwind is to walk: writes a ~unwind note that says whether libunwind was
 * found.
 */
void facts_tell_walker(bool is_there);

/*
 * Reports known modules that were not reported before; called before an event that has frames in
 * them.
 */
void facts_tell_modules(struct thread *thread, uint64_t time);

/* Reports the addresses of the hooks' real functions, which only the collector uses. */
void facts_tell_functions(void);

/*
 * Report the start of a thread, and its end, when it has returned or was unwound. creator, call:
 * the thread and call that created it; 0: not known.
 */
void facts_tell_thread(int32_t creator, uint64_t call);
void facts_tell_thread_end(void);

#endif
