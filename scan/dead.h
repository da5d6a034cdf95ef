/* SPDX-License-Identifier: MIT */
#ifndef SCAN_DEAD_H
#define SCAN_DEAD_H

/* Memory of a process that can be read and is nobody's, and which stack is whose. */

#include "base/array.h"
#include "scan/graph.h"
#include "scan/blocks.h"
#include "scan/moment.h"

struct dead_stack {
	uint64_t from, to; /* to: the thread's descriptor */
	uint32_t thread;   /* index; DEAD_NOBODY: it has ended */
};

#define DEAD_NOBODY UINT32_MAX

struct dead {
	struct ranges ranges;	/* what holds nothing */
	struct ranges doubtful; /* what may hold something, or be left over: words there are weak */
	struct ranges heaps;	/* of libc's allocator: of what lies there only blocks count … */
	struct ranges given;	/* … and what the program had of the break itself */
	ARRAY_OF(struct dead_stack) stacks; /* by address */
};

void dead_find(struct dead *dead, const struct process *process, const struct live *live,
	       const struct graph *graph);
void dead_free(struct dead *dead);

/*
 * The library that has malloc, if it is known to be an allocator and nothing else; NULL: none. What
 * wraps libc's malloc, or has one of its own among other things, has data of the program.
 */
const char *dead_allocator(const struct process *process);

#endif
