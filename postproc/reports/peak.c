/* SPDX-License-Identifier: MIT */
/*
 * What was held when most was held. The state at every new maximum is kept without copying it:
 * each maximum begins an epoch, and a place that changes for the first time in an epoch saves what
 * it had. What was not saved since the last maximum has not changed since.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "postproc/views/report.h"

struct amount {
	uint64_t count, bytes;
};

/* Of a place. */
struct entry {
	struct amount now, saved;
	uint64_t epoch; /* of the process: in which it was saved; of the run: whose peak it is of */
	uint32_t class;
};

/* Of a class, in the process that is being read, and the greatest of the run so far. */
struct class_peak {
	struct amount now, most;
	uint64_t epoch, at_ns;
	bool is_best; /* this process's is greater than those before */
	struct {
		struct amount most;
		uint64_t at_ns;
		uint64_t generation; /* counts the processes that had the greatest */
		uint32_t pid;
		const char *program;
	} run;
};

struct peak_state {
	struct report_run *run;
	struct tally *tally;
	struct class_peak classes[LEDGER_CLASSES];
	bool is_over; /* what is in classes is of a process that has ended */
};

static void save(struct entry *entry, uint64_t epoch)
{
	if (entry->epoch == epoch)
		return;
	entry->saved = entry->now;
	entry->epoch = epoch;
}

/* A process has its peak in its last epoch, and places that did not change since have it still. */
static struct amount at_peak(const struct entry *entry, uint64_t epoch)
{
	return entry->epoch == epoch ? entry->saved : entry->now;
}

static void merge(void *user, void *of_run, const void *of_process)
{
	struct peak_state *state = user;
	struct entry *run = of_run;
	const struct entry *process = of_process;
	const struct class_peak *class = &state->classes[process->class];
	struct amount amount;

	if (!class->is_best)
		return;
	amount = at_peak(process, class->epoch);
	if (run->epoch != class->run.generation)
		run->now = (struct amount){ 0 };
	run->epoch = class->run.generation;
	run->now.count += amount.count;
	run->now.bytes += amount.bytes;
}

static uint64_t weight(const struct peak_state *state, uint32_t class, struct amount amount)
{
	return ledger_class(state->run->ledger, class)->has_bytes ? amount.bytes : amount.count;
}

static void begin_process(struct peak_state *state)
{
	for (uint32_t i = 0; i < LEDGER_CLASSES; i++) {
		struct class_peak *class = &state->classes[i];

		/* Entries begin with epoch 0, in which nothing is saved. */
		*class = (struct class_peak){ .epoch = 1, .run = class->run };
	}
	state->is_over = false;
}

static void add(struct amount *amount, const struct ledger_move *move)
{
	amount->count += (uint64_t)(int64_t)move->count;
	amount->bytes += move->is_gain ? move->bytes : -move->bytes;
}

static int on_move(void *user, const struct ledger_move *move, struct error *err)
{
	struct peak_state *state = user;
	struct entry *entry = tally_entry(state->tally, move->site);
	struct class_peak *class = &state->classes[move->class];

	if (!entry)
		return report_no_memory(err);
	if (state->is_over)
		begin_process(state);
	entry->class = move->class;
	save(entry, class->epoch);
	add(&entry->now, move);
	add(&class->now, move);
	if (weight(state, move->class, class->now) <= weight(state, move->class, class->most))
		return 0;
	class->most = class->now;
	class->at_ns = move->event->time_ns;
	class->epoch++;
	return 0;
}

static int process(void *user, struct error *err)
{
	struct peak_state *state = user;
	const struct summary_process *current = summary_current(state->run->summary);

	(void)err;
	if (state->is_over)
		begin_process(state);
	for (uint32_t i = 0; i < ledger_class_count(state->run->ledger); i++) {
		struct class_peak *class = &state->classes[i];

		class->is_best = weight(state, i, class->most) > weight(state, i, class->run.most);
		if (!class->is_best)
			continue;
		class->run.most = class->most;
		class->run.at_ns = class->at_ns;
		class->run.generation++;
		class->run.pid = current->pid;
		class->run.program = current->name;
	}
	state->is_over = true;
	return 0;
}

static int put_class(struct peak_state *state, struct sheet *sheet, uint32_t index)
{
	const struct class_peak *class = &state->classes[index];
	const struct ledger_class *facts = ledger_class(state->run->ledger, index);
	struct sheet_cell *row;

	if (!class->run.generation)
		return 0;
	row = sheet_add(sheet);
	if (!row || sheet_text(sheet, CELL(row, peaks, class), facts->type))
		return -ENOMEM;
	sheet_amount(CELL(row, peaks, amount), weight(state, index, class->run.most),
		     facts->has_bytes);
	sheet_number(CELL(row, peaks, count), class->run.most.count);
	sheet_number(CELL(row, peaks, time), report_time(state->run, class->run.at_ns));
	sheet_number(CELL(row, peaks, pid), class->run.pid);
	return sheet_text(sheet, CELL(row, peaks, program), class->run.program);
}

static int put_place(void *user, struct sheet *sheet, uint32_t index)
{
	struct peak_state *state = user;
	const struct tally_place *place = tallies_place(&state->run->summary->tallies, index);
	const struct class_peak *class = &state->classes[place->class];
	const struct entry *entry = tally_of_place(state->tally, index);
	bool has_bytes = ledger_class(state->run->ledger, place->class)->has_bytes;
	struct sheet_cell *row;

	if (!entry || entry->epoch != class->run.generation || !entry->now.count)
		return 0;
	row = report_add(state->run, sheet, place->class);
	if (!row)
		return -ENOMEM;
	sheet_amount(CELL(row, peak, amount), weight(state, place->class, entry->now), has_bytes);
	sheet_percent(CELL(row, peak, share), weight(state, place->class, entry->now),
		      weight(state, place->class, class->run.most));
	sheet_number(CELL(row, peak, count), entry->now.count);
	sheet_backtrace(CELL(row, peak, backtrace), place->backtrace);
	return 0;
}

static int end(void *user, struct sheets *sheets, struct error *err)
{
	struct peak_state *state = user;
	struct sheet *peaks = sheets_begin(sheets, SHEET_peaks);

	for (uint32_t i = 0; i < ledger_class_count(state->run->ledger); i++)
		if (put_class(state, peaks, i))
			return report_no_memory(err);
	return report_places(state->run, sheets_begin(sheets, SHEET_peak), put_place, state, err);
}

static int begin(void **result, struct report_run *run, struct error *err)
{
	struct peak_state *state = calloc(1, sizeof(*state));

	if (!state)
		return report_no_memory(err);
	state->run = run;
	state->is_over = true;
	state->tally = report_listen(run, sizeof(struct entry), merge, on_move, state);
	*result = state;
	return 0;
}

const struct report report_peak = {
	.wants_ledger = true,
	.begin = begin,
	.process = process,
	.end = end,
	.destroy = free,
};
