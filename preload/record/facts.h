/* SPDX-License-Identifier: MIT */
#ifndef FACTS_H
#define FACTS_H

/* What a process says of itself, besides its calls: notes and the state of its heap. */

#include <stdbool.h>

#include "preload/walk/maps.h"
#include "thread.h"

/* The very first: keeps what the kernel would have to be asked for later. */
void facts_begin(void);

/* Executable, arguments, directory, and the descriptors that it was born with. */
void facts_tell_process(int argc, char **argv);

struct late_order;

/* In a process that ran before: a ~attached note, what it had by then. */
void facts_tell_attached(const struct late_order *order);

/* Where the heap of brk(2) lies, at exit. */
void facts_tell_heap(void);

/* In a call of dlclose: a ~unmap note for each module that is gone since the last one. */
void facts_tell_gone(void);

/*
 * A ~bypass note for each module that calls hooked functions past us and was not told before: of
 * those that a call of dlclose may unload; of all, where nothing is unloaded any more (is_held) or
 * there is one thread. Not by vfork's child.
 */
void facts_tell_bypass_of(const void *library);
void facts_tell_bypass(bool is_held);

/*
 * Within a call, before its event: a ~file note with the path and the size of what a descriptor
 * stands for, or of what a new symbolic link leads to, if it does.
 */
void facts_tell_file(int fd);
void facts_tell_link(int dirfd, const char *path);

/* At start, where libunwind is to walk: a ~unwind note that says whether it does. */
void facts_tell_walker(bool is_there);

/* The modules that are known and not told: before an event that has frames in them. */
void facts_tell_modules(struct thread *thread, uint64_t time);

/* Where the functions behind the hooks are, for the collector alone. */
void facts_tell_functions(void);

/*
 * A thread's first breath, and its last: it has returned or was unwound. creator: thread and call
 * that made it; 0: not known.
 */
void facts_tell_thread(int32_t creator, uint64_t call);
void facts_tell_thread_end(void);

#endif
