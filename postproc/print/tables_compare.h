/* SPDX-License-Identifier: MIT */
#ifndef PRINT_TABLES_COMPARE_H
#define PRINT_TABLES_COMPARE_H

/* A comparison of two runs as a tree: the rows of report diff by function. */

#include "base/array.h"
#include "base/pool.h"
#include "tables.h"

enum tables_run { TABLES_OLD, TABLES_NEW, TABLES_RUNS };

/*
 * A function; its callers are the last steps of smaller depths. amounts: without those of its
 * callees.
 */
struct tables_step {
	struct table_branch *branch;
	uint64_t amounts[TABLES_RUNS];
};

struct tables_steps {
	struct pool pool;
	ARRAY_OF(struct tables_step) steps; /* in pre-order, sorted by name */
	bool has_bytes, has_ns;
};

/* Whether a table has columns backtrace, old and new. */
bool tables_is_comparison(const struct table_facts *facts);

/* Replaces steps by those of a group of such a table. */
void tables_compare(struct tables_steps *steps, const struct tables_job *job,
		    const struct table *table, const struct table_group *group);

void tables_steps_free(struct tables_steps *steps);

#endif
