/* SPDX-License-Identifier: MIT */
/*
 * Finds call sites whose live amount grows with the number of units of work (unit_growth.h). Either
 * a process marks the end of each unit, or a run has a label `units` with its number of units. With
 * marks, each process is examined separately; with labels, the runs are compared.
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/pool.h"
#include "notes.h"
#include "postproc/report/report.h"
#include "unit_growth.h"

#define FRAMES_MAX 256

struct entry {
	/*
	 * live amount: in an entry of a process, the present one; in an entry of the run, the
	 * amount of the process that grew most
	 */
	double amount;
	/* for a process: number of marks that all points cover; a point covers 1 << shift marks */
	uint64_t marks;
	unsigned shift;
	/* UNIT_POINTS points: parts of the process, or runs with labels; NULL: none yet */
	struct unit_point *points;
	/* the following members are only used in entries of the run */
	struct unit_growth growth;
	uint64_t units; /* units of the process that grew most; 0: nothing was live at any mark */
};

struct units_state {
	struct report_run *run;
	struct tally *tally;
	struct pool pool; /* points of the current process */
	/*
	 * numbers of marks: of the current process, of the process that is being merged, and of the
	 * process with the most marks
	 */
	uint64_t marks, ended_marks, most_marks;
	unsigned shift, ended_shift;
	/* a number of units, and the number of runs with a label that gives this number */
	struct labelled {
		double units;
		const char *path;
		unsigned runs;
	} labelled[UNIT_POINTS];
	size_t labelled_count;
	size_t current; /* index of the process's run in `labelled`; UNIT_POINTS: no label */
	/* length of NAME in --growth=NAME(); 0: units end at marks */
	size_t name_length;
	struct map known;   /* key: address of a backtrace; value: INSIDE or OUTSIDE of NAME */
	struct map threads; /* key: pid and tid; value: INSIDE or OUTSIDE for the last call */
};

static struct unit_point *new_points(struct pool *pool)
{
	return pool_zalloc(pool, UNIT_POINTS * sizeof(struct unit_point));
}

/*
 * Adds the present amount to the points of the units from entry->marks to `marks`, during which the
 * amount has not changed.
 */
static void reach(struct units_state *state, struct entry *entry, uint64_t marks, unsigned shift)
{
	struct unit_point *points = entry->points;

	if (!points)
		points = entry->points = new_points(&state->pool);
	for (; entry->shift < shift; entry->shift++) {
		/* join the points in pairs, so that each point covers twice as many marks */
		for (size_t i = 0; i < UNIT_POINTS / 2; i++) {
			struct unit_point from = points[2 * i], next = points[2 * i + 1];

			if (next.units > 0) {
				from.units = next.units;
				from.most = next.most > from.most ? next.most : from.most;
				from.low = next.low < from.low ? next.low : from.low;
			}
			points[i] = from;
		}
		memset(points + UNIT_POINTS / 2, 0, UNIT_POINTS / 2 * sizeof(*points));
	}
	while (entry->marks < marks) {
		uint64_t at = entry->marks >> shift, end = (at + 1) << shift;
		struct unit_point *point = &entry->points[at];
		bool is_first = point->units <= 0;

		if (is_first || entry->amount > point->most)
			point->most = entry->amount;
		if (is_first || entry->amount < point->low)
			point->low = entry->amount;
		entry->marks = end < marks ? end : marks;
		point->units = (double)entry->marks;
	}
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct units_state *state = user;
	struct entry *entry = tally_entry(state->tally, move->site);
	double amount = ledger_class(state->run->ledger, move->class)->has_bytes
				? (double)move->bytes
				: (double)abs(move->count);

	if (entry->marks < state->marks)
		reach(state, entry, state->marks, state->shift);
	entry->amount += move->is_acquisition ? amount : -amount;
}

static void end_unit(struct units_state *state)
{
	/* at the first unit of a process, the previous process has been merged: free its points */
	if (!state->marks)
		pool_free(&state->pool);
	state->marks++;
	state->shift += state->marks > (uint64_t)UNIT_POINTS << state->shift;
}

static void units_note(void *user, const struct event *event)
{
	struct units_state *state = user;
	const char *wanted = state->run->options->unit, *text = event_argument(event, "text");

	if (strcmp(event->function->name, NOTE_MARK) != 0 || !text ||
	    (wanted && *wanted && strcmp(wanted, text) != 0))
		return;
	end_unit(state);
}

/* Whether this is the name of the function in --growth=NAME(). */
static bool is_of_unit(const struct units_state *state, const char *name)
{
	return name && !strncmp(name, state->run->options->unit, state->name_length) &&
	       (!name[state->name_length] || name[state->name_length] == '(');
}

enum { OUTSIDE = 1, INSIDE };

/* Returns INSIDE if the backtrace of the call contains the function of --growth=NAME(). */
static unsigned where_is(struct units_state *state, const struct event *event)
{
	struct naming_symbol symbols[FRAMES_MAX];
	struct map_entry *entry;
	const struct trace_node *backtrace;
	size_t count;

	if (!event->backtrace || !state->run->naming)
		return OUTSIDE;
	backtrace = report_caller(state->run, event);
	entry = map_put(&state->known, 0, (uintptr_t)backtrace);
	if (entry->value)
		return entry->value;
	entry->value = OUTSIDE;
	count = naming_symbols(state->run->naming, backtrace, symbols, FRAMES_MAX);
	for (size_t i = 0; i < count; i++)
		if (is_of_unit(state, symbols[i].function))
			entry->value = INSIDE;
	return entry->value;
}

/*
 * With --growth=NAME(), a unit ends at each call of NAME if NAME is a hooked function. If NAME is a
 * function of the program, a unit ends when a thread that was in NAME makes a call outside NAME.
 */
static void units_event(void *user, const struct event *event)
{
	struct units_state *state = user;
	struct map_entry *thread;
	unsigned where;

	if (!state->name_length || event->part || event->moment == MOMENT_HALF)
		return;
	if (is_of_unit(state, event->function->name)) {
		end_unit(state);
		return;
	}
	where = where_is(state, event);
	thread = map_put(&state->threads, 0, (uint64_t)event->process->pid << 32 | event->thread);
	if (where == OUTSIDE && thread->value == INSIDE)
		end_unit(state);
	thread->value = where;
}

/* Finds the number of units of the run that the process belongs to. */
static void units_process(void *user)
{
	struct units_state *state = user;
	const struct summary_process *process = summary_current(state->run->summary);
	size_t length;
	const char *label = trace_label(process->labels, "units", &length);
	const char *path = process->path ? process->path : "";
	double units = label ? strtod(label, NULL) : 0;
	struct labelled *labelled = state->labelled;
	size_t at = 0;

	state->ended_marks = state->marks;
	state->ended_shift = state->shift;
	if (state->marks > state->most_marks)
		state->most_marks = state->marks;
	state->marks = state->shift = 0;
	while (at < state->labelled_count && labelled[at].units != units)
		at++;
	state->current = units > 0 ? at : UNIT_POINTS;
	if (state->current == UNIT_POINTS)
		return;
	state->labelled_count += at == state->labelled_count;
	/* all processes of a run are in one file, so another path is another run */
	labelled[at].runs += !labelled[at].path || strcmp(labelled[at].path, path) != 0;
	labelled[at].path = path;
	labelled[at].units = units;
}

/*
 * With marks, keeps the result of the process that grew most. With a label, adds the live amount of
 * the process to that of its run.
 */
static void units_merge(void *user, void *of_run, const void *of_process)
{
	struct units_state *state = user;
	struct entry process = *(const struct entry *)of_process, *run = of_run;
	size_t count = state->ended_marks >> state->ended_shift, live = 0;

	if (state->current < UNIT_POINTS && !run->points)
		run->points = new_points(&state->run->summary->pool);
	if (state->current < UNIT_POINTS)
		run->points[state->current].most += process.amount;
	if (!state->ended_marks)
		return;
	reach(state, &process, state->ended_marks, state->ended_shift);
	while (live < count && process.points[live].most <= 0)
		live++;
	process.growth = unit_growth_decide(process.points, count, false);
	if (live == count || (run->units && (process.growth.verdict < run->growth.verdict ||
					     (process.growth.verdict == run->growth.verdict &&
					      process.growth.slope <= run->growth.slope))))
		return;
	run->growth = process.growth;
	run->amount = process.amount;
	run->units = state->ended_marks;
}

static int by_units(const void *one, const void *two)
{
	double a = ((const struct unit_point *)one)->units,
	       b = ((const struct unit_point *)two)->units;

	return (a > b) - (a < b);
}

static void units_put(void *user, struct table *table, const struct tally_place *place,
		      const void *of_place)
{
	static const char *const words[] = { "saturates", "cannot tell", "grows" };
	struct units_state *state = user;
	struct entry entry = *(const struct entry *)of_place;
	struct unit_point points[UNIT_POINTS];
	size_t count = state->labelled_count;
	bool has_bytes = ledger_class(state->run->ledger, place->class)->has_bytes;
	struct table_cell *row;

	if (place->is_part)
		return;
	if (entry.points) {
		memcpy(points, entry.points, sizeof(points));
		entry.points = points;
		for (size_t i = 0; i < count; i++) {
			points[i].units = state->labelled[i].units;
			points[i].most /= state->labelled[i].runs;
		}
		qsort(points, count, sizeof(*points), by_units);
		entry.growth = unit_growth_decide(points, count, true);
		entry.amount = points[count - 1].most;
		entry.units = (uint64_t)points[count - 1].units;
	}
	if (!entry.units ||
	    (entry.growth.verdict != UNIT_GROWS && entry.points && entry.amount <= 0))
		return;
	state->run->summary->untold += entry.growth.verdict == UNIT_CANNOT_TELL;
	row = report_add(state->run, table, place->class);
	table_text(table, CELL(row, unit_growth, verdict), words[entry.growth.verdict]);
	if (entry.growth.verdict == UNIT_GROWS) {
		table_amount(CELL(row, unit_growth, growth),
			     (uint64_t)(entry.growth.slope < 1 ? 1 : entry.growth.slope + 0.5),
			     has_bytes);
		if (entry.growth.error >= 0.5)
			table_amount(CELL(row, unit_growth, growth_error),
				     (uint64_t)(entry.growth.error + 1), has_bytes);
	}
	table_amount(CELL(row, unit_growth, live), entry.amount > 0 ? (uint64_t)entry.amount : 0,
		     has_bytes);
	table_number(CELL(row, unit_growth, units), entry.units);
	table_backtrace(CELL(row, unit_growth, backtrace), place->backtrace);
}

static void units_end(void *user, struct tables *tables)
{
	struct units_state *state = user;
	struct summary *summary = state->run->summary;

	summary->untold = 0;
	summary->is_unitless = state->labelled_count ? state->labelled_count < UNIT_RUNS_MIN
						     : state->most_marks < UNIT_MARKS_MIN;
	report_places(state->run, state->tally, tables_begin(tables, TABLE_unit_growth), units_put,
		      state);
}

static int units_begin(void *user, struct report_run *run, struct error *err)
{
	struct units_state *state = user;
	const char *unit = state->run->options->unit;
	size_t length = unit ? strlen(unit) : 0;

	(void)run;
	(void)err;
	if (length > 2 && !strcmp(unit + length - 2, "()"))
		state->name_length = length - 2;
	return 0;
}

static void units_destroy(void *user)
{
	struct units_state *state = user;

	map_clear(&state->known);
	map_clear(&state->threads);
	pool_free(&state->pool);
}

const struct report report_units = {
	.wants_ledger = true,
	.state_size = sizeof(struct units_state),
	.entry_size = sizeof(struct entry),
	.merge = units_merge,
	.begin = units_begin,
	.move = on_move,
	.event = units_event,
	.note = units_note,
	.process = units_process,
	.end = units_end,
	.destroy = units_destroy,
};
