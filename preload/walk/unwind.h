/* SPDX-License-Identifier: MIT */
#ifndef UNWIND_H
#define UNWIND_H

/*
 * The judge: libunwind's own walk of the same stack, for the checking mode and for tests. It is not
 * linked but opened, so that no host pays for it; it allocates, takes locks and opens pipes, as the
 * walk of capture.h never does.
 */

#include <stdint.h>

#include "capture.h"

/*
 * Opens libunwind. To be called once where dlopen may be (the library's start), never in a hook.
 * Returns 0, or -ENOENT if it is not installed or not the one we know, -ENOSYS on a processor
 * without one.
 */
int unwind_open(void);

/*
 * The frames from origin outwards, as capture_walk() gives them. Called by a function that origin's
 * has called, with our hooks off in this thread. Returns how many were stored, 0 if unwind_open()
 * failed or the walk never came by the origin.
 */
unsigned int unwind_judge(const struct origin *origin, uintptr_t *frames, unsigned int depth);

/* What the checking mode has found in this process. */
struct unwind_counts {
	uint64_t checked;   /* backtraces that both have walked */
	uint64_t different; /* of them those with another address, or with more or fewer frames */
	uint64_t cut;	    /* of them those that are shorter, and say so */
	uint64_t unjudged;  /* backtraces that libunwind has none for */
};

extern struct unwind_counts unwind_counts;

/* Compares the innermost depth frames of memory, which capture_again() has just made of origin. */
void unwind_check(struct capture_memory *memory, const struct origin *origin, unsigned int depth,
		  enum capture_end end);

#endif
