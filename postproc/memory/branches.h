/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_BRANCHES_H
#define MEMORY_BRANCHES_H

/*
 * A tree of paths: functions of which each has the sum of the paths through it. Small branches can
 * be left out; a function that leads only to one other function shares a branch line with it.
 */

#include "base/pool.h"
#include "base/hash_table.h"
#include "naming/paths.h"
#include "postproc/report/table.h"

struct branch {
	struct branch *parent, *children, *next; /* NULL: none */
	const struct path_function *function;
	uint64_t total;			      /* sum of the paths through it */
	uint64_t self;			      /* sum of the paths that end here */
	double total_variance, self_variance; /* of estimates */
	void *user;			      /* belongs to the report; NULL at first */
	uint64_t order;			      /* of first appearance */
	uint32_t depth;			      /* of the root, which is no function: 0 */
	bool is_left_out;
};

struct branches {
	struct pool pool;
	struct hash_table table; /* of struct branch, by parent and function */
	struct branch root;
	uint64_t count;	   /* branches without the root */
	uint64_t left_out; /* branches; set by branches_finish() */
};

void branches_init(struct branches *branches);
void branches_free(struct branches *branches);

/* Finds or adds the branch of a function below another one (NULL: the root). */
struct branch *branches_child(struct branches *branches, struct branch *parent,
			      const struct path_function *function);

/* Adds a path that ends in the branch. variance: of an estimate, independent of the others. */
void branches_add(struct branch *end, uint64_t amount, double variance);

/*
 * After the last path: sorts children by their sums, the largest first, and leaves out all but the
 * top largest branches (0: none).
 */
void branches_finish(struct branches *branches, size_t top);

/*
 * The next branch after the given one, or after the root, in pre-order; NULL after the last. Skips
 * branches that are left out.
 */
struct branch *branches_next(const struct branches *branches, const struct branch *branch);

/* The end of the line that starts with the branch: each leads only to the next. */
struct branch *branches_end(struct branch *branch);

/*
 * Fills the cell of a branch up to its end. depth: number of lines above it. is_outwards: callers
 * come last.
 */
void branches_cell(struct table *table, struct table_cell *cell, const struct branch *branch,
		   const struct branch *end, uint32_t depth, bool is_outwards);

#endif
