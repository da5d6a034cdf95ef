/* SPDX-License-Identifier: MIT */
/* Conditions: where threads wait, where they are signalled, and which signals found no waiter. */

#include "wakes_report.h"

static void put(struct sheet *sheet, const struct wakes_place *place)
{
	struct sheet_cell *row = sheet_add(sheet);

	sheet_text(sheet, CELL(row, signals, call), place->function);
	sheet_number(CELL(row, signals, count), place->wakes.count);
	sheet_number(CELL(row, signals, woke), place->wakes.woke);
	sheet_number(CELL(row, signals, vain), place->wakes.vain);
	sheet_backtrace(CELL(row, signals, backtrace), place->backtrace);
}

static void end(void *user, struct sheets *sheets)
{
	const struct wakes_report *state = user;
	struct sheet *sheet = sheets_begin(sheets, SHEET_cond_waits);

	wakes_report_waits(state, sheet);
	sheet = sheets_begin(sheets, SHEET_signals);
	for (size_t i = 1; i < state->places.count; i++)
		if (state->places.items[i].wakes.count)
			put(sheet, &state->places.items[i]);
}

static int begin(void *user, struct report_run *run, struct error *err)
{
	(void)run;
	(void)err;
	wakes_report_begin(user, RESOURCE_CONDITION);
	return 0;
}

const struct report report_conds = {
	.state_size = sizeof(struct wakes_report),
	.begin = begin,
	.event = wakes_report_event,
	.process = wakes_report_process,
	.end = end,
	.destroy = wakes_report_destroy,
};
