/* SPDX-License-Identifier: MIT */
#ifndef RUN_CALLTREE_H
#define RUN_CALLTREE_H

/*
 * Finds the hooked call inside which each hooked call was made. Builds a tree of calls for each
 * thread of a process, and returns its nodes breadth first. Each event has the number and the depth
 * of its call. Calls are numbered in the order of their entry, so sorting the records by number
 * gives the tree in pre-order. A stack of open calls then finds the parent of each call, and a
 * queue for each level puts the nodes into breadth-first order.
 *
 * Memory use: a buffer of SPILL_SORT_BUFFER bytes and its entries, 7 KiB for each level of nesting,
 * and 48 bytes for each thread. Two temporary files have the rest: one takes 96 bytes for each
 * call, the other 56 bytes for each call of the thread with most calls.
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
#define CALLTREE_BLOCK	128u /* number of nodes of a level that are in memory */

#define CALLTREE_NEVER UINT64_MAX /* time of the return of a call that has not returned */

/* How complete a record is, best first. If a call has several records, the best one is used. */
enum calltree_rank {
	CALLTREE_CALL, /* the call itself, which has returned */
	/* another object that the call acquired or released, recorded after the call returned */
	CALLTREE_PART,
	CALLTREE_OPEN, /* the call itself, which has not returned */
	CALLTREE_HALF, /* only the first half of the call (MOMENT_HALF) */
};

/* An event of a call. Records are sorted by thread and number, then by rank and time. */
struct calltree_record {
	/* identifies the thread: number of its handle, and number of its life (calltree.c) */
	uint64_t place;
	uint64_t number; /* number of the call in its thread */
	uint64_t enter_ns, leave_ns;
	uint64_t extra[2];
	uint32_t symbol, depth;
	uint32_t path; /* number of the call's path, from 1; 0: it has none */
	/* the call was left by a jump (longjmp, exception), some time after leave_ns */
	bool is_unwound;
};

/*
 * A call in the tree. Its times are within those of its parent, and it does not begin before the
 * siblings that precede it.
 */
struct calltree_node {
	uint64_t enter_ns, leave_ns;
	uint64_t extra[2];
	uint64_t children;
	/* position of the first child in breadth-first order (root: 0); -1: no child */
	int64_t first_child;
	uint32_t symbol;
};

/* A frame of a backtrace: a function, and an address in it. */
struct calltree_step {
	uint64_t address;
	uint32_t symbol;
};

struct calltree_path {
	uint32_t count;
	struct calltree_step *steps; /* the outermost step comes first */
};

struct calltree_level {
	/* the newest nodes (fewer than CALLTREE_BLOCK), which are not yet in a block */
	struct calltree_node *nodes;
	uint64_t count;
	ARRAY_OF(uint64_t) blocks; /* offsets of full blocks in the spill file */
};

/* A call that is open when the current record begins. */
struct calltree_open {
	struct calltree_node node;
	/* the recorded time of the call's return, which may be later than the parent's */
	uint64_t until_ns;
	uint64_t last_enter; /* time of entry of the call's newest child */
	uint64_t newest_ns;  /* latest return of a child */
	uint32_t depth;
	bool is_unwound;
	/*
	 * this is not a recorded call, but a step of a path. It lasts from the entry of its first
	 * child to the return of its last child
	 */
	bool is_inferred;
	uint32_t path; /* number of the call's path; 0: it has none */
};

struct calltree_thread; /* this struct is defined in calltree.c */

struct calltree {
	struct pool pool;
	struct hash_table threads; /* items: struct calltree_thread; key: tid */
	struct hash_table handles; /* items: struct handle; key: pthread_t */
	/* the pthread_t of each handle, indexed by number of the handle */
	ARRAY_OF(uint64_t) handle_list;
	uint32_t lives;
	uint64_t last_ns; /* latest time of all events */
	/*
	 * The paths of calls, indexed by number minus 1, or NULL if calls have no paths. The steps
	 * of a call's path become nodes between the call and the enclosing call. Set this member
	 * before calltree_next_thread(). The paths must outlive the tree.
	 */
	const struct calltree_path *paths;
	struct spill_sort sort; /* sorts the records */

	/* the following members are for the thread whose nodes are being returned */
	struct calltree_record record; /* the next record */
	bool has_record;
	uint64_t place;
	struct calltree_open *open; /* the open calls, outermost first */
	uint32_t open_count;
	uint64_t last_enter; /* time of entry of the newest outermost call */
	uint64_t root_children;
	struct spill_file spill;
	struct calltree_level *levels;
	uint32_t level_count, levels_used;

	uint32_t level; /* level of the next node */
	uint64_t index; /* index of the next node in its level */
	struct calltree_node *window;
	int64_t next_child;
};

/* directory: where the temporary files are created, as for spill_init(). */
void calltree_init(struct calltree *tree, int directory);

/*
 * Adds an event of a call, or a note about a call that has not returned. The event must have a tail
 * (has_tail). calltree_next() returns `symbol` and `extra` in the call's node. path: number of the
 * call's path, from 1; 0: it has none. If a call has several events, the most complete one is used.
 */
void calltree_add(struct calltree *tree, const struct event *event, uint32_t symbol, uint32_t path,
		  const uint64_t extra[2]);

/* Processes a note that the event's thread has started. */
void calltree_begin_thread(struct calltree *tree, const struct event *event);

/* Processes the time of an event. Calls that never return end at the latest of these times. */
void calltree_see_time(struct calltree *tree, uint64_t time_ns);

/* Ends the input. Call it after the last event. Returns 0 or a negative errno. */
int calltree_finish(struct calltree *tree, struct error *err);

/*
 * Starts the next thread. *handle: its pthread_t or, if that is 0, its tid; *children: number of
 * its outermost calls. Threads that had the same handle one after another count as one thread.
 * Returns 1, 0 after the last thread, or a negative errno.
 */
int calltree_next_thread(struct calltree *tree, uint64_t *handle, uint64_t *children,
			 struct error *err);

/*
 * Sets *node to the next node of the thread in breadth-first order. The root, at position 0, is not
 * returned. Returns 1, 0 after the last node, or a negative errno.
 */
int calltree_next(struct calltree *tree, struct calltree_node *node, struct error *err);

void calltree_free(struct calltree *tree);

#endif
