/* SPDX-License-Identifier: MIT */
/*
 * The report on live objects over time: bytes of memory, descriptors, threads and locks. As text it
 * is a chart.
 */
#include <string.h>

#include "postproc/report/report.h"
#include "timeline.h"

struct timeline_state {
	struct report_run *run;
	struct timeline process, all;
};

/* By class: enum timeline_level plus 1; 0: the class has none. */
static const unsigned char levels[RESOURCE_COUNT] = {
	[RESOURCE_MEMORY] = TIMELINE_MEMORY + 1,
	[RESOURCE_FD] = TIMELINE_DESCRIPTORS + 1,
	[RESOURCE_THREAD] = TIMELINE_THREADS + 1,
	[RESOURCE_LOCK] = TIMELINE_LOCKS + 1,
};

static void on_move(void *user, const struct ledger_move *move)
{
	struct timeline_state *state = user;
	const struct ledger_class *class = ledger_class(state->run->ledger, move->class);
	int64_t change = move->count;

	if (!levels[class->known])
		return;
	if (class->has_bytes) {
		change = move->bytes < INT64_MAX ? (int64_t)move->bytes : INT64_MAX;
		change = move->is_acquisition ? change : -change;
	}
	timeline_change(&state->process, (enum timeline_level)(levels[class->known] - 1), change,
			class->known == RESOURCE_MEMORY ? move->variance : 0, move->event->time_ns);
}

static void timeline_report_process(void *user)
{
	struct timeline_state *state = user;
	const struct summary_process *current = summary_current(state->run->summary);

	if (state->process.shift)
		timeline_advance(&state->process, current->end_ns);
	timeline_add(&state->all, &state->process);
	memset(&state->process, 0, sizeof(state->process));
}

static void timeline_report_put(struct timeline_state *state, struct table *table, uint32_t step)
{
	const struct timeline_step *of = &state->all.steps[step];
	struct table_cell *row = table_add(table);

	table_number(CELL(row, timeline, time),
		     report_time(state->run, (state->all.first + step) << state->all.shift));
	table_number(CELL(row, timeline, memory), of->most[TIMELINE_MEMORY]);
	table_error(CELL(row, timeline, memory_bytes_error), of->variance, true);
	table_number(CELL(row, timeline, descriptors), of->most[TIMELINE_DESCRIPTORS]);
	table_number(CELL(row, timeline, threads), of->most[TIMELINE_THREADS]);
	table_number(CELL(row, timeline, locks), of->most[TIMELINE_LOCKS]);
}

static void timeline_report_end(void *user, struct tables *tables)
{
	struct timeline_state *state = user;
	struct table *table = tables_begin(tables, TABLE_timeline);

	for (uint32_t i = 0; i < state->all.count; i++)
		timeline_report_put(state, table, i);
	if (state->run->summary->processes.count > 1)
		table->note = "sums over all processes: each adds its maximum in the step of time";
}

const struct report report_timeline = {
	.wants_ledger = true,
	.state_size = sizeof(struct timeline_state),
	.move = on_move,
	.process = timeline_report_process,
	.end = timeline_report_end,
};
