/* SPDX-License-Identifier: MIT */
/*
 * The report `growth`: call sites whose live amount grows. Time is divided into steps. A call site
 * grows if its amount rose from step to step until it reached its peak, if all its falls on the way
 * add up to at most an eighth of the peak (a garbage collector frees some memory now and then), and
 * if the rise took at least half of the process's life. So the report omits a call site whose
 * amount rises only while a program starts, but lists a call site whose memory is freed only at
 * exit. A step is evaluated when the amount of the call site first changes after the step, so a
 * call site whose amount does not change costs nothing.
 */

#include "postproc/report/report.h"

/* length of the first steps; the length doubles as the process lives longer */
#define STEP_NS	  1000000ull
#define STEPS_MAX 1024u
#define RISES_MIN 4u

struct entry {
	/*
	 * In an entry of a process: the present amount. In an entry of the run: the sum of the
	 * amounts at the peaks of those processes in which the call site's amount grew.
	 */
	uint64_t count, bytes;
	double variance;  /* variance of bytes */
	uint64_t at_step; /* amount at the end of the previous step: bytes if any, else objects */
	/* number of the step with the last change, plus 1; 0: no change yet */
	uint64_t step;
	/* rises: number of steps in which the amount rose; fallen: sum of all falls */
	uint64_t rises, fallen;
	/*
	 * times of the first acquisition, of the last acquisition before the peak, and of the last
	 * acquisition so far
	 */
	uint64_t first_ns, last_ns, acquired_ns;
	struct {
		uint64_t amount, count, bytes, rises, fallen;
		double variance;
	} peak; /* values at the end of the step that ended with the largest amount */
	struct rises curve;
};

struct growth_state {
	struct report_run *run;
	struct tally *tally;
	/* step_ns, start_ns: 0 before the first move; least_ns: minimum time of a reported rise */
	uint64_t step_ns, start_ns, least_ns;
};

/* Evaluates the last step in which the amount changed. Call it after the end of that step. */
static void evaluate_step(struct entry *entry)
{
	/* use bytes if there are any, so that a block that realloc() enlarges counts as growth */
	uint64_t amount = entry->bytes ? entry->bytes : entry->count;

	entry->rises += amount > entry->at_step;
	entry->fallen += amount < entry->at_step ? entry->at_step - amount : 0;
	entry->at_step = amount;
	if (amount < entry->peak.amount || !amount)
		return;
	entry->last_ns = amount > entry->peak.amount ? entry->acquired_ns : entry->last_ns;
	entry->peak.amount = amount;
	entry->peak.count = entry->count;
	entry->peak.bytes = entry->bytes;
	entry->peak.variance = entry->variance;
	entry->peak.rises = entry->rises;
	entry->peak.fallen = entry->fallen;
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct growth_state *state = user;
	struct entry *entry = tally_entry(state->tally, move->site);
	uint64_t ns = move->event->time_ns, step;

	state->step_ns = state->step_ns ?: STEP_NS;
	if (!state->start_ns || ns < state->start_ns)
		state->start_ns = ns;
	while ((ns - state->start_ns) / state->step_ns >= STEPS_MAX)
		state->step_ns *= 2;
	step = ns / state->step_ns + 1;
	if (entry->step && entry->step != step)
		evaluate_step(entry);
	entry->step = step;
	report_hold(state->run, &entry->curve, move);
	entry->count += (uint64_t)(int64_t)move->count;
	entry->bytes += move->is_acquisition ? move->bytes : -move->bytes;
	entry->variance += move->is_acquisition ? move->variance : -move->variance;
	if (!move->is_acquisition)
		return;
	if (!entry->first_ns)
		entry->first_ns = ns;
	entry->acquired_ns = ns;
}

static void growth_merge(void *user, void *of_run, const void *of_process)
{
	const struct growth_state *state = user;
	struct entry process = *(const struct entry *)of_process, *run = of_run;

	evaluate_step(&process);
	rises_merge(&run->curve, &state->run->windows, &process.curve);
	if (process.peak.fallen > process.peak.amount / 8 || process.peak.rises < RISES_MIN ||
	    process.last_ns - process.first_ns < state->least_ns)
		return;
	run->count += process.peak.count;
	run->bytes += process.peak.bytes;
	run->variance += process.peak.variance;
	run->rises += process.peak.rises;
	if (!run->first_ns || process.first_ns < run->first_ns)
		run->first_ns = process.first_ns;
	if (process.last_ns > run->last_ns)
		run->last_ns = process.last_ns;
}

static void growth_process(void *user)
{
	struct growth_state *state = user;
	const struct summary_process *current = summary_current(state->run->summary);

	state->least_ns =
		current->end_ns > current->start_ns ? (current->end_ns - current->start_ns) / 2 : 0;
	state->step_ns = state->start_ns = 0;
}

static void growth_put(void *user, struct table *table, const struct tally_place *place,
		       const void *of_place)
{
	struct growth_state *state = user;
	const struct entry *entry = of_place;
	bool has_bytes = ledger_class(state->run->ledger, place->class)->has_bytes;
	struct table_cell *row;

	if (!entry->rises || place->is_part)
		return;
	row = report_add(state->run, table, place->class);
	table_amount(CELL(row, growth, peak), has_bytes ? entry->bytes : entry->count, has_bytes);
	table_error(CELL(row, growth, peak_error), entry->variance, true);
	table_number(CELL(row, growth, count), entry->count);
	table_number(CELL(row, growth, rises), entry->rises);
	table_number(CELL(row, growth, first_rise), report_time(state->run, entry->first_ns));
	table_number(CELL(row, growth, last_rise), report_time(state->run, entry->last_ns));
	table_backtrace(CELL(row, growth, backtrace), place->backtrace);
	report_curve(state->run, table, CELL(row, growth, curve), &entry->curve);
}

static void growth_end(void *user, struct tables *tables)
{
	struct growth_state *state = user;

	report_places(state->run, state->tally, tables_begin(tables, TABLE_growth), growth_put,
		      state);
}

const struct report report_growth = {
	.wants_ledger = true,
	.state_size = sizeof(struct growth_state),
	.entry_size = sizeof(struct entry),
	.merge = growth_merge,
	.move = on_move,
	.process = growth_process,
	.end = growth_end,
};
