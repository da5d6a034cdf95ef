/* SPDX-License-Identifier: MIT */
#include "branches.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"

void branches_init(struct branches *branches)
{
	*branches = (struct branches){ 0 };
	hash_table_init(&branches->table);
}

void branches_free(struct branches *branches)
{
	hash_table_free(&branches->table);
	pool_free(&branches->pool);
}

struct key {
	const struct branch *parent;
	const struct path_function *function;
};

static bool is_branch(const void *item, const void *key)
{
	const struct branch *branch = item;
	const struct key *wanted = key;

	return branch->parent == wanted->parent && branch->function == wanted->function;
}

struct branch *branches_child(struct branches *branches, struct branch *parent,
			      const struct path_function *function)
{
	struct key key = { parent = parent ? parent : &branches->root, function };
	uint64_t hash = hash_two(branches->table.seed, (uintptr_t)parent, (uintptr_t)function);
	struct branch *branch = hash_table_find(&branches->table, hash, is_branch, &key);

	if (branch)
		return branch;
	branch = pool_zalloc(&branches->pool, sizeof(*branch));
	hash_table_add(&branches->table, hash, branch);
	branch->parent = parent;
	branch->function = function;
	branch->depth = parent->depth + 1;
	branch->order = branches->count++;
	branch->next = parent->children;
	parent->children = branch;
	return branch;
}

void branches_add(struct branch *end, uint64_t amount, double variance)
{
	end->self += amount;
	end->self_variance += variance;
	for (struct branch *branch = end; branch; branch = branch->parent) {
		branch->total += amount;
		branch->total_variance += variance;
	}
}

/* ---- order ---- */

/*
 * Sorts the largest total first. Among equal totals, the branch nearer to the root is first, then
 * the branch that was added first.
 */
static int compare(const void *a, const void *b)
{
	const struct branch *one = *(struct branch *const *)a, *two = *(struct branch *const *)b;

	return ORDER(two->total, one->total)
		?: ORDER(one->depth, two->depth)
		?: ORDER(one->order, two->order);
}

/*
 * Whether the branch is shown on the line of its parent: it is the only child, no path ends at the
 * parent, and the parent is not the root, which has no line.
 */
static bool is_continued(const struct branch *branch)
{
	const struct branch *parent = branch->parent;

	return parent->depth && !branch->next && parent->children == branch && !parent->self;
}

void branches_finish(struct branches *branches, size_t top)
{
	struct branch **sorted = memory_alloc((branches->count + 1) * sizeof(*sorted));
	size_t at = 0, lines = 0;

	for (size_t i = 0; branches->table.slots && i <= branches->table.mask; i++)
		if (branches->table.slots[i].item)
			sorted[at++] = branches->table.slots[i].item;
	qsort(sorted, at, sizeof(*sorted), compare);
	/*
	 * insert each branch at the front of its parent's list, beginning with the last branch, so
	 * that the lists are sorted
	 */
	branches->root.children = NULL;
	for (size_t i = 0; i < at; i++)
		sorted[i]->children = NULL;
	for (size_t i = at; i > 0; i--) {
		sorted[i - 1]->next = sorted[i - 1]->parent->children;
		sorted[i - 1]->parent->children = sorted[i - 1];
	}
	/*
	 * leave out all branches except those of the first `top` lines: a parent is sorted before
	 * its children, so the remaining branches form a tree
	 */
	for (size_t i = 0; top && i < at; i++) {
		struct branch *branch = sorted[i];

		branch->is_left_out = branch->parent->is_left_out;
		if (branch->is_left_out || is_continued(branch))
			continue;
		branch->is_left_out = lines == top;
		lines += !branch->is_left_out;
		branches->left_out += branch->is_left_out;
	}
	free(sorted);
}

/* ---- shown branches ---- */

static struct branch *first_shown(struct branch *branch)
{
	while (branch && branch->is_left_out)
		branch = branch->next;
	return branch;
}

struct branch *branches_next(const struct branches *branches, const struct branch *branch)
{
	struct branch *next = first_shown(branch ? branch->children : branches->root.children);

	while (!next && branch && branch->parent) {
		next = first_shown(branch->next);
		branch = branch->parent;
	}
	return next;
}

struct branch *branches_end(struct branch *branch)
{
	while (branch->children && is_continued(branch->children) && !branch->children->is_left_out)
		branch = branch->children;
	return branch;
}

void branches_cell(struct table *table, struct table_cell *cell, const struct branch *branch,
		   const struct branch *end, uint32_t depth, bool is_outwards)
{
	uint32_t count = end->depth - branch->depth + 1;
	struct table_branch *shown =
		table_alloc(table, sizeof(*shown) + count * sizeof(*shown->frames));

	shown->depth = depth;
	shown->is_outwards = is_outwards;
	shown->count = count;
	for (uint32_t i = count; i > 0; i--, end = end->parent)
		shown->frames[i - 1] = &end->function->symbol;
	cell->branch = shown;
	cell->is_set = true;
}
