/* SPDX-License-Identifier: MIT */
/* What is given back at once, by the thread that gained it: often it need not have been gained. */
#include <errno.h>

#include "postproc/views/report.h"

struct entry {
	uint64_t gained, temporary, bytes;
};

struct temp_state {
	struct report_run *run;
	struct tally *tally;
	uint64_t within; /* calls of the thread, the loss included */
};

static void merge(void *user, void *of_run, const void *of_process)
{
	struct entry *run = of_run;
	const struct entry *process = of_process;

	(void)user;
	run->gained += process->gained;
	run->temporary += process->temporary;
	run->bytes += process->bytes;
}

static int on_move(void *user, const struct ledger_move *move, struct error *err)
{
	struct temp_state *state = user;
	struct entry *entry = tally_entry(state->tally, move->site);

	if (!entry)
		return report_no_memory(err);
	entry->gained += move->is_gain;
	/* Of samples nobody knows how many calls came between. */
	if (ledger_class(state->run->ledger, move->class)->is_estimate)
		return 0;
	if (move->is_gain || move->count >= 0 || move->item->thread != move->thread ||
	    move->turn - move->item->turn > state->within)
		return 0;
	entry->temporary++;
	entry->bytes += move->bytes;
	return 0;
}

/* Locks, threads and processes are left out: short-lived ones are normal. */
static bool is_meant(const struct ledger_class *class)
{
	return class->known == RESOURCE_LOCK || class->known == RESOURCE_THREAD ||
	       class->known == RESOURCE_PROCESS;
}

static int put(void *user, struct sheet *sheet, uint32_t index)
{
	struct temp_state *state = user;
	const struct tally_place *place = tallies_place(&state->run->summary->tallies, index);
	const struct ledger_class *class = ledger_class(state->run->ledger, place->class);
	const struct entry *entry = tally_of_place(state->tally, index);
	struct sheet_cell *row;

	if (!entry || !entry->temporary || is_meant(class))
		return 0;
	row = report_add(state->run, sheet, place->class);
	if (!row)
		return -ENOMEM;
	sheet_number(CELL(row, temp, temporary), entry->temporary);
	sheet_percent(CELL(row, temp, share), entry->temporary, entry->gained);
	sheet_number(CELL(row, temp, gained), entry->gained);
	if (class->has_bytes)
		sheet_number(CELL(row, temp, bytes), entry->bytes);
	sheet_backtrace(CELL(row, temp, backtrace), place->backtrace);
	return 0;
}

static int end(void *user, struct sheets *sheets, struct error *err)
{
	struct temp_state *state = user;

	return report_places(state->run, sheets_begin(sheets, SHEET_temp), put, state, err);
}

static int begin(void *user, struct report_run *run, struct error *err)
{
	struct temp_state *state = user;

	(void)err;
	state->within = run->options->within ? run->options->within : 1;
	state->tally = report_listen(run, sizeof(struct entry), merge, on_move, state);
	return 0;
}

const struct report report_temp = {
	.wants_ledger = true,
	.state_size = sizeof(struct temp_state),
	.begin = begin,
	.end = end,
};
