/* SPDX-License-Identifier: MIT */
#ifndef SCAN_DEAD_H
#define SCAN_DEAD_H

/*
 * Finds unused memory of a process, in which pointers are not roots, and the thread of each stack.
 */

#include "base/array.h"
#include "scan/graph.h"
#include "scan/blocks.h"
#include "scan/moment.h"

struct dead_stack {
	uint64_t from, to; /* to: address of the thread's descriptor */
	uint32_t thread;   /* index of the thread; DEAD_NOBODY: the thread has ended */
};

#define DEAD_NOBODY UINT32_MAX

struct dead {
	struct ranges ranges;	/* ranges that are not in use */
	struct ranges doubtful; /* ranges that are possibly unused: pointers in them are weak */
	/* heaps of libc's allocator: outside of blocks and `given`, pointers in them are weak */
	struct ranges heaps;
	struct ranges given; /* parts of heaps that the program itself got from brk() */
	ARRAY_OF(struct dead_stack) stacks; /* in ascending order of addresses */
};

void dead_find(struct dead *dead, const struct process *process, const struct live *live,
	       const struct graph *graph);
void dead_free(struct dead *dead);

/*
 * Returns the library that defines malloc, if it is only an allocator; else NULL. A library that
 * wraps libc's malloc, or defines malloc among other functions, also has data of the program.
 */
const char *dead_allocator(const struct process *process);

#endif
