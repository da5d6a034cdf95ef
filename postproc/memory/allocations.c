/* SPDX-License-Identifier: MIT */
/*
 * The report `allocations`: the number of objects that each call site acquired, and their bytes,
 * whether or not they were released later.
 */

#include "postproc/report/report.h"

struct entry {
	uint64_t calls, bytes;
	double variance, calls_variance;
};

struct hot_state {
	struct report_run *run;
	struct tally *tally;
	uint64_t calls[LEDGER_CLASSES]; /* number of calls of each class, over all call sites */
};

static void allocations_merge(void *user, void *of_run, const void *of_process)
{
	struct entry *run = of_run;
	const struct entry *process = of_process;

	(void)user;
	run->calls += process->calls;
	run->bytes += process->bytes;
	run->variance += process->variance;
	run->calls_variance += process->calls_variance;
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct hot_state *state = user;
	struct entry *entry;

	if (!move->is_acquisition || move->is_no_call)
		return;
	entry = tally_entry(state->tally, move->site);
	entry->calls += (uint64_t)move->count;
	entry->bytes += move->bytes;
	entry->variance += move->variance;
	entry->calls_variance += move->count_variance;
	state->calls[move->class] += (uint64_t)move->count;
}

static void allocations_put(void *user, struct table *table, const struct tally_place *place,
			    const void *of_place)
{
	struct hot_state *state = user;
	const struct entry *entry = of_place;
	struct table_cell *row;

	if (!entry->calls)
		return;
	row = report_add(state->run, table, place->class);
	table_number(CELL(row, allocations, calls), entry->calls);
	table_count_error(CELL(row, allocations, calls_error), entry->calls, entry->calls_variance);
	table_percent(CELL(row, allocations, share), entry->calls, state->calls[place->class]);
	if (ledger_class(state->run->ledger, place->class)->has_bytes) {
		table_number(CELL(row, allocations, bytes), entry->bytes);
		table_error(CELL(row, allocations, bytes_error), entry->variance, true);
		table_average(CELL(row, allocations, average), entry->bytes, entry->calls);
	}
	table_backtrace(CELL(row, allocations, backtrace), place->backtrace);
}

static void allocations_end(void *user, struct tables *tables)
{
	struct hot_state *state = user;

	report_places(state->run, state->tally, tables_begin(tables, TABLE_allocations),
		      allocations_put, state);
}

const struct report report_allocations = {
	.wants_ledger = true,
	.state_size = sizeof(struct hot_state),
	.entry_size = sizeof(struct entry),
	.merge = allocations_merge,
	.move = on_move,
	.end = allocations_end,
};
