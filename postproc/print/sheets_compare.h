/* SPDX-License-Identifier: MIT */
#ifndef PRINT_SHEETS_COMPARE_H
#define PRINT_SHEETS_COMPARE_H

/* Two runs compared, as a tree: the rows of report diff by the functions that lead to them. */

#include "base/array.h"
#include "base/pool.h"
#include "sheets.h"

enum sheets_run { SHEETS_OLD, SHEETS_NEW, SHEETS_RUNS };

/* One function, led to by the last ones of less depth; of its own: what ends there. */
struct sheets_step {
	struct sheet_branch *branch;
	uint64_t amounts[SHEETS_RUNS];
};

struct sheets_steps {
	struct pool pool;
	ARRAY_OF(struct sheets_step) steps; /* in pre-order, by name */
	bool has_bytes, has_ns;
};

/* Whether a sheet has a backtrace, what it was and what it is. */
bool sheets_is_comparison(const struct sheet_facts *facts);

/* Fills steps, of which nothing else is left, from a group of such a sheet. */
bool sheets_compare(struct sheets_steps *steps, const struct sheets_job *job,
		    const struct sheet *sheet, const struct sheet_group *group);

void sheets_steps_free(struct sheets_steps *steps);

#endif
