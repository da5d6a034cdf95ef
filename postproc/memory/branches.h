/* SPDX-License-Identifier: MIT */
#ifndef MEMORY_BRANCHES_H
#define MEMORY_BRANCHES_H

/*
 * A tree of paths with the same beginnings, each function with what its paths amount to. Small
 * branches can be left out; a function that leads to nothing but another one is one branch with
 * it.
 */

#include "base/pool.h"
#include "base/table.h"
#include "naming/paths.h"
#include "postproc/report/sheet.h"

struct branch {
	struct branch *parent, *children, *next; /* NULL: none */
	const struct path_function *function;
	uint64_t total;			      /* of all paths through it */
	uint64_t self;			      /* of those that end here */
	double total_variance, self_variance; /* of estimates */
	void *user;			      /* the report's, NULL at first */
	uint64_t order;			      /* in which it was met */
	uint32_t depth;			      /* of the root: 0, which is no function */
	bool is_left_out;
};

struct branches {
	struct pool pool;
	struct table table; /* of struct branch, by parent and function */
	struct branch root;
	uint64_t count;	   /* without the root */
	uint64_t left_out; /* after branches_finish() */
};

void branches_init(struct branches *branches);
void branches_free(struct branches *branches);

/* The branch of a function behind another one (NULL: the root). */
struct branch *branches_child(struct branches *branches, struct branch *parent,
			      const struct path_function *function);

/* Counts a path that ends in the branch. variance: of an estimate, which the others do not share.
 */
void branches_add(struct branches *branches, struct branch *end, uint64_t amount, double variance);

/*
 * All paths are there: children by what they amount to, the largest first, and all but the top
 * largest branches left out (0: none is).
 */
void branches_finish(struct branches *branches, size_t top);

/*
 * The next branch behind one, or behind the root, in pre-order; NULL after the last. What is left
 * out is not given.
 */
struct branch *branches_next(const struct branches *branches, const struct branch *branch);

/* The end of what stands in one line with it: each leads to nothing but the next. */
struct branch *branches_end(struct branch *branch);

/*
 * The cell that shows a branch up to its end. depth: lines that lead to it. is_outwards: callers
 * come last.
 */
void branches_cell(struct sheet *sheet, struct sheet_cell *cell, const struct branch *branch,
		   const struct branch *end, uint32_t depth, bool is_outwards);

#endif
