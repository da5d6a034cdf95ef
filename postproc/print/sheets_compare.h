/* SPDX-License-Identifier: MIT */
#ifndef PRINT_SHEETS_COMPARE_H
#define PRINT_SHEETS_COMPARE_H

/* A comparison of two runs as a tree: the rows of report diff by function. */

#include "base/array.h"
#include "base/pool.h"
#include "sheets.h"

enum sheets_run { SHEETS_OLD, SHEETS_NEW, SHEETS_RUNS };

/*
 * A function; its callers are the last steps of smaller depths. amounts: without those of its
 * callees.
 */
struct sheets_step {
	struct sheet_branch *branch;
	uint64_t amounts[SHEETS_RUNS];
};

struct sheets_steps {
	struct pool pool;
	ARRAY_OF(struct sheets_step) steps; /* in pre-order, sorted by name */
	bool has_bytes, has_ns;
};

/* Whether a table has columns backtrace, old and new. */
bool sheets_is_comparison(const struct sheet_facts *facts);

/* Replaces steps by those of a group of such a table. */
bool sheets_compare(struct sheets_steps *steps, const struct sheets_job *job,
		    const struct sheet *sheet, const struct sheet_group *group);

void sheets_steps_free(struct sheets_steps *steps);

#endif
