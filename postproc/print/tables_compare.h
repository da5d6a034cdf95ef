/* SPDX-License-Identifier: MIT */
#ifndef PRINT_TABLES_COMPARE_H
#define PRINT_TABLES_COMPARE_H

/*
 * Turns a comparison of two runs into a tree: the rows of the report `diff`, arranged by function.
 */

#include "base/array.h"
#include "base/pool.h"
#include "tables.h"

enum tables_run { TABLES_OLD, TABLES_NEW, TABLES_RUNS };

/*
 * A function in the tree. Its callers are the last steps before it that have smaller depths.
 * amounts: its own amounts, without those of its callees.
 */
struct tables_step {
	struct table_branch *branch;
	uint64_t amounts[TABLES_RUNS];
};

struct tables_steps {
	struct pool pool;
	ARRAY_OF(struct tables_step) steps; /* the tree in pre-order, siblings sorted by name */
	bool has_bytes, has_ns;
};

/* Whether a table is a comparison: it has the columns `backtrace`, `old` and `new`. */
bool tables_is_comparison(const struct table_facts *facts);

/* Replaces the contents of `steps` by the tree of one group of a comparison. */
void tables_compare(struct tables_steps *steps, const struct tables_job *job,
		    const struct table *table, const struct table_group *group);

void tables_steps_free(struct tables_steps *steps);

#endif
