/* SPDX-License-Identifier: MIT */
/*
 * The report `temporary`: objects that the acquiring thread released in its next call or, with
 * --within=N, in one of its next N calls. Such allocations are often unnecessary.
 */

#include "postproc/report/report.h"

struct entry {
	uint64_t acquired, temporary, bytes;
};

static void temporary_merge(void *user, void *of_run, const void *of_process)
{
	struct entry *run = of_run;
	const struct entry *process = of_process;

	(void)user;
	run->acquired += process->acquired;
	run->temporary += process->temporary;
	run->bytes += process->bytes;
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct report_tallied *state = user;
	struct entry *entry = tally_entry(state->tally, move->site);

	entry->acquired += move->is_acquisition && !move->is_no_call;
	if (!ledger_move_is_temporary(state->run->ledger, move, state->run->options->within))
		return;
	entry->temporary++;
	entry->bytes += move->bytes;
}

static void temporary_put(void *user, struct table *table, const struct tally_place *place,
			  const void *of_place)
{
	struct report_tallied *state = user;
	const struct entry *entry = of_place;
	struct table_cell *row;

	if (!entry->temporary)
		return;
	row = report_add(state->run, table, place->class);
	table_number(CELL(row, temporary, temporary), entry->temporary);
	table_percent(CELL(row, temporary, share), entry->temporary, entry->acquired);
	table_number(CELL(row, temporary, acquired), entry->acquired);
	if (ledger_class(state->run->ledger, place->class)->has_bytes)
		table_number(CELL(row, temporary, bytes), entry->bytes);
	table_backtrace(CELL(row, temporary, backtrace), place->backtrace);
}

static void temporary_end(void *user, struct tables *tables)
{
	struct report_tallied *state = user;
	struct table *table = tables_begin(tables, TABLE_temporary);

	report_note_samples(state->run, table, REPORT_SAMPLED_TEMP);
	report_places(state->run, state->tally, table, temporary_put, state);
}

const struct report report_temporary = {
	.wants_ledger = true,
	.state_size = sizeof(struct report_tallied),
	.entry_size = sizeof(struct entry),
	.merge = temporary_merge,
	.move = on_move,
	.end = temporary_end,
};
