/* SPDX-License-Identifier: MIT */
/* Conditions: where threads wait, where they are signalled, and which signals found no waiter. */

#include "wakes_report.h"

static void put(struct table *table, const struct wakes_place *place)
{
	struct table_cell *row = table_add(table);

	table_text(table, CELL(row, signals, call), place->function);
	table_number(CELL(row, signals, count), place->wakes.count);
	table_number(CELL(row, signals, woke), place->wakes.woke);
	table_number(CELL(row, signals, vain), place->wakes.vain);
	table_backtrace(CELL(row, signals, backtrace), place->backtrace);
}

static void end(void *user, struct tables *tables)
{
	const struct wakes_report *state = user;
	struct table *table = tables_begin(tables, TABLE_cond_waits);

	wakes_report_waits(state, table);
	table = tables_begin(tables, TABLE_signals);
	for (size_t i = 1; i < state->places.count; i++)
		if (state->places.items[i].wakes.count)
			put(table, &state->places.items[i]);
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
