/* SPDX-License-Identifier: MIT */
/* How often each operation was done. An example of a report: CONTRIBUTING.md adds it. */

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

static void end(void *user, struct sheets *sheets)
{
	const struct operations_state *state = user;
	struct sheet *sheet = sheets_begin(sheets, SHEET_operations);

	for (unsigned i = 0; i < OPERATION_COUNT; i++) {
		struct sheet_cell *row;

		if (!state->calls[i])
			continue;
		row = sheet_add(sheet);
		sheet_text(sheet, CELL(row, operations, operation), operation_table[i].name);
		sheet_number(CELL(row, operations, calls), state->calls[i]);
	}
}

const struct report report_operations = {
	.state_size = sizeof(struct operations_state),
	.event = event,
	.end = end,
};
