/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_ALLOCATORS_H
#define TOTALS_ALLOCATORS_H

/*
 * Allocators without hooks: linked into the program or into a library (perhaps loaded later), or an
 * arena of the program itself. The trace does not have their blocks, but it has their calls of mmap
 * and sbrk. A known allocator is found by a function on the stack of these calls (allocators.def);
 * of others, and in stripped files, only the mapped bytes are known.
 */

#include "naming/naming.h"
#include "summary.h"

/* A note of the process that says where its allocation functions are. */
void allocators_note(struct summary *summary, const struct event *note);

/* The process has ended: adds up what it has mapped and not unmapped. */
void allocators_process(struct summary *summary);

/* After summary_end(): sets summary->inner. naming NULL: finds no names. */
void allocators_find(struct summary *summary, struct naming *naming);

#endif
