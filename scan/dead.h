/* SPDX-License-Identifier: MIT */
#ifndef SCAN_DEAD_H
#define SCAN_DEAD_H

/* Finds memory of a process that is not in use, so it has no roots, and whose stack is whose. */

#include "base/array.h"
#include "scan/graph.h"
#include "scan/blocks.h"
#include "scan/moment.h"

struct dead_stack {
	uint64_t from, to; /* to: the thread's descriptor */
	uint32_t thread;   /* index; DEAD_NOBODY: the thread has ended */
};

#define DEAD_NOBODY UINT32_MAX

struct dead {
	struct ranges ranges;	/* not in use */
	struct ranges doubtful; /* maybe not in use: words there are weak */
	struct ranges heaps;	/* of libc's allocator: only blocks count there … */
	struct ranges given;	/* … and parts that the program got by calling brk itself */
	ARRAY_OF(struct dead_stack) stacks; /* ascending addresses */
};

void dead_find(struct dead *dead, const struct process *process, const struct live *live,
	       const struct graph *graph);
void dead_free(struct dead *dead);

/*
 * The library that defines malloc, if it is known to be only an allocator; NULL: not known to be
 * one. Another library, which wraps libc's malloc or has its own besides other functions, has data
 * of the program.
 */
const char *dead_allocator(const struct process *process);

#endif
