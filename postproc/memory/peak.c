/* SPDX-License-Identifier: MIT */
/* The report `peak`: the objects that were live at the peak, by call site (totals/peaks.h). */

#include "postproc/totals/peaks.h"
#include "postproc/report/report.h"

struct peak_state {
	struct report_run *run;
	struct peaks peaks;
};

static void peak_process(void *user)
{
	struct peak_state *state = user;
	const struct summary_process *current = summary_current(state->run->summary);

	peaks_process(&state->peaks, current->pid, current->name);
}

static void put_class(struct peak_state *state, struct table *table, uint32_t index)
{
	const struct peaks_run *peak = &state->peaks.classes[index].run;
	const struct ledger_class *facts = ledger_class(state->run->ledger, index);
	struct table_cell *row;

	if (!peak->generation)
		return;
	row = table_add(table);
	table_text(table, CELL(row, peaks, class), facts->type);
	table_amount(CELL(row, peaks, peak), peaks_weight(&state->peaks, index, peak->most),
		     facts->has_bytes);
	table_error(CELL(row, peaks, peak_error), peak->most.variance, true);
	table_number(CELL(row, peaks, count), peak->most.count);
	table_number(CELL(row, peaks, time), report_time(state->run, peak->at_ns));
	table_number(CELL(row, peaks, pid), peak->pid);
	table_text(table, CELL(row, peaks, program), peak->program);
}

static void put_place(struct peak_state *state, struct table *table, uint32_t index)
{
	const struct peaks *peaks = &state->peaks;
	const struct tally_place *place = tallies_place(&state->run->summary->tallies, index);
	bool has_bytes = ledger_class(state->run->ledger, place->class)->has_bytes;
	struct peaks_amount amount;
	struct table_cell *row;

	if (!peaks_at(peaks, place->class, index, &amount))
		return;
	row = report_add(state->run, table, place->class);
	table_amount(CELL(row, peak_sites, amount), peaks_weight(peaks, place->class, amount),
		     has_bytes);
	table_error(CELL(row, peak_sites, amount_error), amount.variance, true);
	table_percent(CELL(row, peak_sites, share), peaks_weight(peaks, place->class, amount),
		      peaks_weight(peaks, place->class, peaks->classes[place->class].run.most));
	table_number(CELL(row, peak_sites, count), amount.count);
	report_type(state->run, table, CELL(row, peak_sites, type), place->backtrace);
	table_backtrace(CELL(row, peak_sites, backtrace), place->backtrace);
}

static void peak_end(void *user, struct tables *tables)
{
	struct peak_state *state = user;
	struct table *table = tables_begin(tables, TABLE_peaks);

	for (uint32_t i = 0; i < ledger_class_count(state->run->ledger); i++)
		put_class(state, table, i);
	table = tables_begin(tables, TABLE_peak_sites);
	for (uint32_t i = 0; i < tallies_count(&state->run->summary->tallies); i++)
		put_place(state, table, i);
}

static int peak_begin(void *user, struct report_run *run, struct error *err)
{
	struct peak_state *state = user;

	(void)err;
	peaks_init(&state->peaks, run->ledger);
	state->peaks.tally = report_listen(run, sizeof(struct peaks_entry), peaks_merge, peaks_move,
					   &state->peaks);
	return 0;
}

const struct report report_peak = {
	.wants_ledger = true,
	.state_size = sizeof(struct peak_state),
	.begin = peak_begin,
	.process = peak_process,
	.end = peak_end,
};
