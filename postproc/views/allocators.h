/* SPDX-License-Identifier: MIT */
#ifndef VIEWS_ALLOCATORS_H
#define VIEWS_ALLOCATORS_H

/*
 * Allocators that are called by names of their own: linked into the program or into a library, also
 * one that is loaded later. Their blocks are in no trace, but their calls of mmap are; a function
 * of such an allocator (allocators.def) is on the stack then. A stripped file has no such names.
 */

#include "naming/naming.h"
#include "postproc/views/summary.h"

/* A call of the run; those that map memory outside of all hooked calls count. Returns 0 or -ENOMEM.
 */
int allocators_event(struct summary *summary, const struct event *event);

/* After summary_end(): sets summary->inner. naming may be NULL: then nothing is found. */
void allocators_find(struct summary *summary, struct naming *naming);

#endif
