/* SPDX-License-Identifier: MIT */
/* Semaphores: where threads wait, where they are posted, and which posts found no waiter. */

#include "wakes_report.h"

static void put(struct sheet *sheet, const struct wakes_place *place)
{
	struct sheet_cell *row = sheet_add(sheet);

	sheet_number(CELL(row, posts, count), place->wakes.count);
	sheet_number(CELL(row, posts, woke), place->wakes.woke);
	sheet_number(CELL(row, posts, vain), place->wakes.vain);
	sheet_number(CELL(row, posts, never), place->wakes.never);
	sheet_backtrace(CELL(row, posts, backtrace), place->backtrace);
}

/* Calls that had not returned when their process ended: the view does not get them. */
static void put_asleep(const struct summary *run, struct sheet *sheet)
{
	for (size_t i = 0; i < run->blocked.count; i++) {
		const struct summary_blocked *blocked = &run->blocked.items[i];
		struct sheet_cell *row;

		if (blocked->resource != RESOURCE_SEMAPHORE)
			continue;
		row = sheet_add(sheet);
		sheet_text(sheet, CELL(row, sem_waits, ended),
			   wakes_end_name(RESOURCE_SEMAPHORE, WAKES_ASLEEP));
		sheet_number(CELL(row, sem_waits, waits), blocked->threads);
		sheet_number(CELL(row, sem_waits, waited), blocked->longest_ns);
		sheet_number(CELL(row, sem_waits, longest), blocked->longest_ns);
		sheet_number(CELL(row, sem_waits, object), blocked->object);
		sheet_backtrace(CELL(row, sem_waits, backtrace), blocked->backtrace);
	}
}

static void end(void *user, struct sheets *sheets)
{
	const struct wakes_report *state = user;
	struct sheet *sheet = sheets_begin(sheets, SHEET_sem_waits);

	put_asleep(state->run->summary, sheet);
	wakes_report_waits(state, sheet);
	sheet = sheets_begin(sheets, SHEET_posts);
	for (size_t i = 1; i < state->places.count; i++)
		if (state->places.items[i].wakes.count)
			put(sheet, &state->places.items[i]);
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
