/* SPDX-License-Identifier: MIT */
#ifndef RUN_CALLTREE_H
#define RUN_CALLTREE_H

/*
 * Which hooked call was made inside which: a tree for each thread of one process, from the number
 * and depth of every call, given out breadth first. Numbers rise in the order of entry, so records
 * sorted by number are the tree in pre-order; a stack of open calls gives each call its parent, and
 * a queue for each level its place.
 *
 * Memory: SPILL_SORT_BUFFER and its entries, 7 KiB for each level of nesting, 48 bytes for each
 * thread; the rest is in two temporary files: 96 bytes for each call, and 56 for each call of the
 * largest thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "base/pool.h"
#include "base/spill_sort.h"
#include "trace/event.h"

/* Calls nested deeper than this become siblings of the innermost call within the limit. */
#define CALLTREE_LEVELS 4096u
#define CALLTREE_BLOCK	128u /* nodes that a level holds in memory */

#define CALLTREE_NEVER UINT64_MAX /* a time: the call has not returned */

/* The completeness of a record; of several records of one call the first in this order counts. */
enum calltree_rank {
	CALLTREE_CALL, /* the call itself, returned */
	CALLTREE_PART, /* something else that it acquired or released, after its return */
	CALLTREE_OPEN, /* the call, not returned */
	CALLTREE_HALF, /* its first half */
};

/* An event of a call; sorted by thread and number, then by rank and time. */
struct calltree_record {
	uint64_t place;	 /* the thread */
	uint64_t number; /* of the call in its thread */
	uint64_t enter_ns, leave_ns;
	uint64_t extra[2];
	uint32_t symbol, depth;
	uint32_t path;	 /* its number from 1; 0: none */
	bool is_unwound; /* it was left by a jump, some time after leave_ns */
};

/* A call in the tree. Its times lie within those of the parent, after those of earlier siblings. */
struct calltree_node {
	uint64_t enter_ns, leave_ns;
	uint64_t extra[2];
	uint64_t children;
	int64_t first_child; /* place of the first child, the root's being 0; -1: none */
	uint32_t symbol;
};

/* A function in a backtrace, and the address in it. */
struct calltree_step {
	uint64_t address;
	uint32_t symbol;
};

struct calltree_path {
	uint32_t count;
	struct calltree_step *steps; /* outermost first */
};

struct calltree_level {
	/* the last CALLTREE_BLOCK or fewer nodes, which are not in blocks */
	struct calltree_node *nodes;
	uint64_t count;
	ARRAY_OF(uint64_t) blocks; /* offsets of full blocks in the spill file */
};

/* A call that is open at the current record. */
struct calltree_open {
	struct calltree_node node;
	uint64_t until_ns;   /* its return before it was clamped */
	uint64_t last_enter; /* entry of its newest child */
	uint64_t newest_ns;  /* latest return of a child */
	uint32_t depth;
	bool is_unwound;
	bool is_inferred; /* a step of a path: it lasts from its first call to its last one */
	uint32_t path;	  /* of the call; 0: none */
};

struct calltree_thread; /* see calltree.c */

struct calltree {
	struct pool pool;
	struct hash_table threads;	/* by tid */
	struct hash_table handles;	/* by pthread_t */
	ARRAY_OF(uint64_t) handle_list; /* by number of the handle: the pthread_t */
	uint32_t lives;
	uint64_t last_ns; /* latest time seen */
	/*
	 * NULL, or by number from 1: the steps of a call become nodes between it and the enclosing
	 * call. Set it before calltree_next_thread(); it must outlive the tree.
	 */
	const struct calltree_path *paths;
	struct spill_sort sort; /* of struct calltree_record */

	/* of the thread that is being given out */
	struct calltree_record record; /* the next one */
	bool has_record;
	uint64_t place;
	struct calltree_open *open; /* outermost first */
	uint32_t open_count;
	uint64_t last_enter; /* of the newest outermost call */
	uint64_t root_children;
	struct spill_file spill;
	struct calltree_level *levels;
	uint32_t level_count, levels_used;

	uint32_t level; /* of the next node */
	uint64_t index; /* its number in the level */
	struct calltree_node *window;
	int64_t next_child;
};

/* directory: for temporary files, as of spill_init(). */
void calltree_init(struct calltree *tree, int directory);

/*
 * Adds an event of a call, or a note about an open one, with all members of a tail. symbol, extra:
 * returned in the node. path: its number from 1, 0: none. Of several events of one call the most
 * complete is kept.
 */
void calltree_add(struct calltree *tree, const struct event *event, uint32_t symbol, uint32_t path,
		  const uint64_t extra[2]);

/* A note that the thread of the event begins. */
void calltree_begin_thread(struct calltree *tree, const struct event *event);

/* A time that was seen: calls that never return end no earlier. */
void calltree_see_time(struct calltree *tree, uint64_t time_ns);

/* After the last event. Returns 0 or a negative errno. */
int calltree_finish(struct calltree *tree, struct error *err);

/*
 * Starts the next thread; *handle: its pthread_t, or its tid if that is 0; *children: number of
 * outermost calls. Lives with one handle are one thread. Returns 1, 0 if there are no more, or a
 * negative errno.
 */
int calltree_next_thread(struct calltree *tree, uint64_t *handle, uint64_t *children,
			 struct error *err);

/*
 * The next node of the thread in breadth-first order; the root, which is not returned, has place 0.
 * Returns 1, 0 at the thread's end, or a negative errno.
 */
int calltree_next(struct calltree *tree, struct calltree_node *node, struct error *err);

void calltree_free(struct calltree *tree);

#endif
