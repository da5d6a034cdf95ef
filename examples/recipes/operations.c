/* SPDX-License-Identifier: MIT */
/* Counts the events of each operation. An example of a report: CONTRIBUTING.md adds it. */

#include "hook_table.h"
#include "postproc/report/report.h"

struct operations_state {
	struct report_run *run;
	uint64_t calls[OPERATION_COUNT];
};

static void event(void *user, const struct event *call)
{
	struct operations_state *state = user;

	state->calls[call->operation]++;
}

static void end(void *user, struct tables *tables)
{
	const struct operations_state *state = user;
	struct table *table = tables_begin(tables, TABLE_operations);

	for (unsigned i = 0; i < OPERATION_COUNT; i++) {
		struct table_cell *row;

		if (!state->calls[i])
			continue;
		row = table_add(table);
		table_text(table, CELL(row, operations, operation), operation_table[i].name);
		table_number(CELL(row, operations, calls), state->calls[i]);
	}
}

const struct report report_operations = {
	.state_size = sizeof(struct operations_state),
	.event = event,
	.end = end,
};
