/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_ALLOCATORS_H
#define TOTALS_ALLOCATORS_H

/*
 * Finds allocators that are not hooked. They may be linked into the program or into a library, or
 * be a memory pool (arena) of the program itself. The trace has notes about the functions that were
 * hooked when the program started. It does not have the blocks of other allocators, but it has
 * their calls of mmap and sbrk. A known allocator is recognised by a function on the stack of such
 * a call (allocators.def). For other allocators, and in stripped files, only the number of mapped
 * bytes is known.
 */

#include "naming/naming.h"
#include "summary.h"

/* Processes the note with the addresses of the process's allocation functions. */
void allocators_note(struct summary *summary, const struct event *note);

/* Processes a note about an allocator function: its calls are recorded, or cannot be recorded. */
void allocators_function(struct summary *summary, const struct event *note);

/*
 * Call it when the process has ended: adds up the memory that the process mapped and did not unmap.
 */
void allocators_process(struct summary *summary);

/*
 * Call it after summary_end(): sets the name and module of summary->inner. If `naming` is NULL,
 * finds no allocator.
 */
void allocators_find(struct summary *summary, struct naming *naming);

#endif
