/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_BRANCHES_H
#define MEMORY_BRANCHES_H

/*
 * A tree of call paths. Each node, called a branch, is a function, with the sum of the amounts of
 * all paths through this branch. Small branches can be left out. A function that leads only to one
 * other function is shown on the same line as that function.
 */

#include "base/pool.h"
#include "base/hash_table.h"
#include "naming/paths.h"
#include "postproc/report/table.h"

struct branch {
	struct branch *parent, *children, *next; /* children: first child; next: next sibling */
	const struct path_function *function;
	/* sum of the amounts of all paths through the branch */
	uint64_t total;
	uint64_t self;			      /* sum of the amounts of the paths that end here */
	double total_variance, self_variance; /* variance of the sums, if they are estimates */
	void *user;			      /* for the report's own use; initially NULL */
	/* number of the branch in the order of first appearance */
	uint64_t order;
	/* number of functions on the path to the branch; 0: the root, which is not a function */
	uint32_t depth;
	bool is_left_out;
};

struct branches {
	struct pool pool;
	struct hash_table table; /* all branches; key: parent and function */
	struct branch root;
	uint64_t count;	   /* number of branches, not counting the root */
	uint64_t left_out; /* number of branches left out; set by branches_finish() */
};

void branches_init(struct branches *branches);
void branches_free(struct branches *branches);

/* Finds or adds the branch of a function below `parent` (NULL: the root). */
struct branch *branches_child(struct branches *branches, struct branch *parent,
			      const struct path_function *function);

/*
 * Adds the amount of a path, whose last function is `end`, to all branches of the path. variance: 0
 * or, if the amount is an estimate, its variance. Errors of different paths must be independent.
 */
void branches_add(struct branch *end, uint64_t amount, double variance);

/*
 * Call it after the last branches_add(). Sorts children by their sums, the largest first, and
 * leaves out all but the `top` largest lines (0: leaves out none).
 */
void branches_finish(struct branches *branches, size_t top);

/*
 * Returns the next branch in pre-order after `branch` (NULL: the root), or NULL after the last one.
 * Skips branches that are left out.
 */
struct branch *branches_next(const struct branches *branches, const struct branch *branch);

/* Returns the last branch on the line that begins with `branch`. */
struct branch *branches_end(struct branch *branch);

/*
 * Fills a cell with the functions from `branch` to `end`, which share a line. depth: number of
 * lines above this line on the path from the root. is_outwards: the path begins with a callee.
 */
void branches_cell(struct table *table, struct table_cell *cell, const struct branch *branch,
		   const struct branch *end, uint32_t depth, bool is_outwards);

#endif
