/* SPDX-License-Identifier: MIT */
/* The numbers of the screen that a run ends with. As text it is that screen. */

#include "postproc/report/report.h"

static void put(struct sheet *sheet, const struct summary_class *class)
{
	const struct summary_peak *peak = &class->peak;
	uint64_t threshold_ns = waits_threshold(&class->waits);
	struct sheet_cell *row = sheet_add(sheet);

	sheet_text(sheet, CELL(row, classes, class), class->type);
	sheet_number(CELL(row, classes, gained), class->gained);
	sheet_number(CELL(row, classes, lost), class->lost);
	if (class->known == RESOURCE_THREAD)
		sheet_number(CELL(row, classes, joined), class->waited);
	if (class->known == RESOURCE_LOCK)
		sheet_number(CELL(row, classes, retaken), class->retaken);
	sheet_number(CELL(row, classes, failed), class->failed);
	sheet_number(CELL(row, classes, most), peak->amount);
	if (peak->amount)
		sheet_number(CELL(row, classes, most_at), peak->time_ns);
	sheet_number(CELL(row, classes, held), class->held);
	if (summary_has_bytes(class))
		sheet_number(CELL(row, classes, held_bytes), class->held_bytes);
	sheet_error(CELL(row, classes, error), class->held_variance, true);
	if (class->waits.calls) {
		sheet_number(CELL(row, classes, waits),
			     waits_count(&class->waits.times, threshold_ns));
		sheet_number(CELL(row, classes, waited),
			     waits_ns(&class->waits.times, threshold_ns));
	}
	sheet_number(CELL(row, classes, strays), class->strays);
	sheet_number(CELL(row, classes, replaced), class->replaced);
	sheet_number(CELL(row, classes, earlier), class->earlier);
}

/* Sums over all processes. */
static void put_before(struct sheet *sheet, const struct summary *summary, enum before_kind kind)
{
	struct before_sum sum = { 0 };
	struct sheet_cell *row;

	for (size_t i = 0; i < summary->processes.count; i++)
		before_add_up(&sum, &summary->processes.items[i].had[kind]);
	if (!sum.ranges)
		return;
	row = sheet_add(sheet);
	sheet_text(sheet, CELL(row, mapped_before, kind), before_word(kind));
	sheet_number(CELL(row, mapped_before, ranges), sum.ranges);
	sheet_number(CELL(row, mapped_before, bytes), sum.bytes);
	sheet_number(CELL(row, mapped_before, gone), sum.lost);
}

static void end(void *state, struct sheets *sheets)
{
	const struct report_run *run = state;
	const struct summary *summary = run->summary;
	struct sheet *sheet = sheets_begin(sheets, SHEET_classes);

	for (enum resource known = RESOURCE_NONE + 1; known < RESOURCE_COUNT; known++) {
		const struct summary_class *class = summary_class_of(summary, known);

		if (class && known != RESOURCE_EVENT)
			put(sheet, class);
	}
	for (uint32_t i = 0; i < summary->class_count; i++)
		if (summary->classes[i].known == RESOURCE_NONE)
			put(sheet, &summary->classes[i]);
	sheet = sheets_begin(sheets, SHEET_mapped_before);
	for (enum before_kind kind = 0; kind < BEFORE_KINDS; kind++)
		put_before(sheet, summary, kind);
}

const struct report report_summary = {
	.wants_summary = true,
	.is_screen = true,
	.end = end,
};
