/* SPDX-License-Identifier: MIT */
/*
 * The report `summary`: the numbers of the screen at the end of a run. As text it is that screen.
 */

#include "findings_table.h"

static void summary_report_put(struct table *table, const struct summary_class *class)
{
	const struct summary_peak *peak = &class->peak;
	uint64_t threshold_ns = waits_threshold(&class->waits);
	struct table_cell *row = table_add(table);

	table_text(table, CELL(row, classes, class), class->type);
	table_number(CELL(row, classes, acquired), class->acquired);
	table_number(CELL(row, classes, released), class->lost);
	if (class->known == RESOURCE_THREAD)
		table_number(CELL(row, classes, joined), class->waited);
	if (class->known == RESOURCE_LOCK)
		table_number(CELL(row, classes, relocked), class->retaken);
	table_number(CELL(row, classes, failed), class->failed);
	table_amount(CELL(row, classes, peak), peak->amount, summary_has_bytes(class));
	if (peak->amount)
		table_number(CELL(row, classes, peak_time), peak->time_ns);
	table_number(CELL(row, classes, live), class->held);
	if (summary_has_bytes(class))
		table_number(CELL(row, classes, live_bytes), class->held_bytes);
	table_error(CELL(row, classes, live_bytes_error), class->held_variance, true);
	if (class->waits.calls) {
		table_number(CELL(row, classes, waits),
			     waits_count(&class->waits.times, threshold_ns));
		table_number(CELL(row, classes, wait_time),
			     waits_ns(&class->waits.times, threshold_ns));
	}
	table_number(CELL(row, classes, unmatched), class->strays);
	table_number(CELL(row, classes, replaced), class->replaced);
	table_number(CELL(row, classes, released_before), class->earlier);
}

/*
 * Adds a row for one kind of memory that was mapped before the attach, summed over all processes.
 */
static void put_before(struct table *table, const struct summary *summary, enum before_kind kind)
{
	struct before_sum sum = { 0 };
	struct table_cell *row;

	for (size_t i = 0; i < summary->processes.count; i++)
		before_add_up(&sum, &summary->processes.items[i].had[kind]);
	if (!sum.ranges)
		return;
	row = table_add(table);
	table_text(table, CELL(row, mapped_before, kind), before_word(kind));
	table_number(CELL(row, mapped_before, ranges), sum.ranges);
	table_number(CELL(row, mapped_before, bytes), sum.bytes);
	table_number(CELL(row, mapped_before, unmapped), sum.lost);
}

static void summary_report_end(void *state, struct tables *tables)
{
	const struct report_run *run = state;
	const struct summary *summary = run->summary;
	struct table *table = tables_begin(tables, TABLE_findings);

	findings_put(run, table);
	table = tables_begin(tables, TABLE_classes);
	for (enum resource known = RESOURCE_NONE + 1; known < RESOURCE_COUNT; known++) {
		const struct summary_class *class = summary_class_of(summary, known);

		if (class && known != RESOURCE_EVENT)
			summary_report_put(table, class);
	}
	for (uint32_t i = 0; i < summary->class_count; i++)
		if (summary->classes[i].known == RESOURCE_NONE)
			summary_report_put(table, &summary->classes[i]);
	table = tables_begin(tables, TABLE_mapped_before);
	for (enum before_kind kind = 0; kind < BEFORE_KINDS; kind++)
		put_before(table, summary, kind);
}

const struct report report_summary = {
	.wants_summary = true,
	.is_screen = true,
	.end = summary_report_end,
};
