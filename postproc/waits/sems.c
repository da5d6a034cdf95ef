/* SPDX-License-Identifier: MIT */
/* Semaphores: where threads wait, where they are posted, and which posts found no waiter. */

#include "wakes_report.h"

static void put(struct table *table, const struct wakes_place *place)
{
	struct table_cell *row = table_add(table);

	table_number(CELL(row, posts, count), place->wakes.count);
	table_number(CELL(row, posts, woke), place->wakes.woke);
	table_number(CELL(row, posts, vain), place->wakes.vain);
	table_number(CELL(row, posts, never), place->wakes.never);
	table_backtrace(CELL(row, posts, backtrace), place->backtrace);
}

/* Calls that had not returned when their process ended: the view does not get them. */
static void put_asleep(const struct summary *run, struct table *table)
{
	for (size_t i = 0; i < run->blocked.count; i++) {
		const struct summary_blocked *blocked = &run->blocked.items[i];
		struct table_cell *row;

		if (blocked->resource != RESOURCE_SEMAPHORE)
			continue;
		row = table_add(table);
		table_text(table, CELL(row, sem_waits, ended),
			   wakes_end_name(RESOURCE_SEMAPHORE, WAKES_ASLEEP));
		table_number(CELL(row, sem_waits, waits), blocked->threads);
		table_number(CELL(row, sem_waits, waited), blocked->longest_ns);
		table_number(CELL(row, sem_waits, longest), blocked->longest_ns);
		table_number(CELL(row, sem_waits, object), blocked->object);
		table_backtrace(CELL(row, sem_waits, backtrace), blocked->backtrace);
	}
}

static void end(void *user, struct tables *tables)
{
	const struct wakes_report *state = user;
	struct table *table = tables_begin(tables, TABLE_sem_waits);

	put_asleep(state->run->summary, table);
	wakes_report_waits(state, table);
	table = tables_begin(tables, TABLE_posts);
	for (size_t i = 1; i < state->places.count; i++)
		if (state->places.items[i].wakes.count)
			put(table, &state->places.items[i]);
}

static int begin(void *user, struct report_run *run, struct error *err)
{
	(void)run;
	(void)err;
	wakes_report_begin(user, RESOURCE_SEMAPHORE);
	return 0;
}

const struct report report_sems = {
	.wants_summary = true, /* for calls under way at the end */
	.state_size = sizeof(struct wakes_report),
	.begin = begin,
	.event = wakes_report_event,
	.process = wakes_report_process,
	.end = end,
	.destroy = wakes_report_destroy,
};
