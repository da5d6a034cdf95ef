/* SPDX-License-Identifier: MIT */
#ifndef TOTALS_ALLOCATORS_H
#define TOTALS_ALLOCATORS_H

/*
 * Allocators whose functions no hook knows: linked into the program or into a library, also one
 * that is loaded later, or an arena of the program's own. Their blocks are in no trace, but their
 * calls of mmap and sbrk are. A known allocator has a function on the stack then (allocators.def);
 * of others, and of stripped files, only how much they have mapped is known.
 */

#include "naming/naming.h"
#include "summary.h"

/* A note of the process: where its functions are. */
void allocators_note(struct summary *summary, const struct event *note);

/* The process has ended: takes what it has mapped and not given back. */
void allocators_process(struct summary *summary);

/* After summary_end(): sets summary->inner. Without naming (NULL) no name is found. */
void allocators_find(struct summary *summary, struct naming *naming);

#endif
