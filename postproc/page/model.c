/* SPDX-License-Identifier: MIT */
/*
 * Makes the model of the HTML page: sums of a run by call site and time. From these sums, the page
 * computes for any window of time how much was allocated, how much was live at the end, how much of
 * that was allocated in the window, and how long calls waited. The size of the sums does not grow
 * with the number of events.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/human.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/order.h"
#include "notes.h"
#include "postproc/waits/lanes.h"
#include "postproc/report/report.h"
#include "postproc/run/highs.h"
#include "postproc/run/spans.h"

#define SPANS_MOST 200000u /* maximum number of spans if report_run.detail is 0 */
#define WAIT_LEAST 10000u  /* in ns: shorter waits are not listed among the longest */
#define LONG_MOST  2000u   /* maximum number of the longest waits, and of the longest holds */
/* the tables of longest waits and holds each have at most most_spans() / A_LONG_ONE rows */
#define A_LONG_ONE 100u

/* An entry of the tally, for a call site in one process or in the whole run. */
struct entry {
	uint32_t number; /* number of the site, from 1; 0: it has none yet */
};

/* A site (a call site in a process). place: number of the first site with the same call site. */
struct number {
	uint32_t place, process;
};

/* The waits of one process at one call site for one kind of object. */
struct waiter {
	const struct trace_node *backtrace;
	const char *function;
	enum lane_kind kind;
	uint32_t process;
	bool is_open; /* the waits had not ended when the process ended */
};

struct mark {
	uint64_t time_ns;
	char *text;
};

/* One of the longest waits, or of the longest holds of locks. */
struct stay {
	uint32_t pid, thread, waker; /* waker 0: unknown, or this is a hold */
	bool is_open;		     /* the wait or hold had not ended when the process ended */
	enum lane_kind kind;
	const char *function;
	uint64_t object, since_ns, length_ns;
	const struct trace_node *backtrace, *waker_backtrace;
};

/* The longest waits or holds so far. When the list is full, its shorter half is dropped. */
struct stays {
	struct stay *items;
	size_t count, capacity;
	uint64_t least_ns, left_out; /* shorter ones are left out; their number */
};

struct model_state {
	struct report_run *run;
	struct lanes lanes;
	struct stays long_waits, long_holds;
	struct pool pool; /* names of functions */
	ARRAY_OF(const char *) names;
	struct tally *tally;
	struct spans spans, waits;
	struct highs highs;
	struct spans drawn, drawn_waits; /* the spans that the page shows, within the limit */
	ARRAY_OF(struct number) numbers; /* indexed by number of a site */
	/* number of processes whose spans are separate; 1: the spans of all processes are merged */
	uint32_t processes;
	uint32_t first;			 /* number of the current process's first site */
	ARRAY_OF(struct waiter) waiters; /* indexed by number of a wait's site */
	/*
	 * key: process, kind, is_open, and address of the backtrace; value: index + 1 in `waiters`
	 */
	struct map waiter_index;
	ARRAY_OF(struct mark) marks;
};

/* ---- the fold ---- */

static uint32_t add_number(struct model_state *state)
{
	struct number *number = ARRAY_ADD(&state->numbers);

	*number = (struct number){ (uint32_t)state->numbers.count - 1,
				   report_process(state->run) - 1 };
	return number->place;
}

/* Sets the place of a process's site to the number of the first site with the same call site. */
static void model_merge(void *user, void *of_run, const void *of_process)
{
	struct model_state *state = user;
	struct entry *run = of_run;
	const struct entry *process = of_process;

	if (!process->number)
		return;
	if (!run->number)
		run->number = process->number;
	state->numbers.items[process->number].place = run->number;
}

static void model_move(void *user, const struct ledger_move *move)
{
	struct model_state *state = user;
	struct entry *entry = tally_entry(state->tally, move->site);
	int64_t bytes = (int64_t)move->bytes, count = move->count;
	uint64_t acquired = move->item->acquired_ns, now = move->event->time_ns;
	uint64_t start = summary_current(state->run->summary)->start_ns;

	highs_change(&state->highs, move->class, report_process(state->run) - 1, now, count,
		     move->is_acquisition ? bytes : -bytes);

	/* a descriptor opened before an exec counts as opened when the new program started */
	if (acquired < start)
		acquired = start;
	if (!entry->number)
		entry->number = add_number(state);
	if (move->is_acquisition) {
		spans_add(&state->spans, entry->number, acquired, SPANS_NEVER, count, bytes);
		return;
	}
	spans_add(&state->spans, entry->number, acquired, SPANS_NEVER, count, -bytes);
	spans_add(&state->spans, entry->number, acquired, now, -count, bytes);
}

/* Returns a copy of `name` that outlives the process, or NULL if `name` is NULL. */
static const char *kept_name(struct model_state *state, const char *name)
{
	const char **kept;

	for (size_t i = 0; name && i < state->names.count; i++)
		if (!strcmp(state->names.items[i], name))
			return state->names.items[i];
	name = name ? pool_text(&state->pool, name, strlen(name)) : NULL;
	kept = name ? ARRAY_ADD(&state->names) : NULL;
	if (kept)
		*kept = name;
	return kept ? name : NULL;
}

/* Finds or adds the waiter of a wait. Returns its number. */
static uint32_t waiter_number(struct model_state *state, const struct lane_wait *wait)
{
	uint32_t process = report_process(state->run) - 1;
	uint64_t group = ((uint64_t)process * LANE_KINDS + wait->kind) * 2 + wait->is_open;
	struct map_entry *entry =
		map_put(&state->waiter_index, group, (uint64_t)(uintptr_t)wait->waiter);

	if (entry->value)
		return entry->value - 1;
	*ARRAY_ADD(&state->waiters) = (struct waiter){ .backtrace = wait->waiter,
						       .function = kept_name(state, wait->function),
						       .kind = wait->kind,
						       .process = process,
						       .is_open = wait->is_open };
	entry->value = (uint32_t)state->waiters.count;
	return entry->value - 1;
}

static void model_event(void *user, const struct event *event)
{
	struct model_state *state = user;

	lanes_event(&state->lanes, event);
}

static void model_note(void *user, const struct event *event)
{
	struct model_state *state = user;
	const char *text = event_argument(event, "text");
	struct mark *mark;

	lanes_note(&state->lanes, event);
	if (strcmp(event->function->name, NOTE_MARK) != 0 || !text)
		return;
	mark = ARRAY_ADD(&state->marks);
	*mark = (struct mark){ event->time_ns, memory_text(text) };
}

/* ---- the longest waits and holds ---- */

/* Equally long waits are sorted by time, so that a trace always gives the same page. */
static int by_length(const void *left, const void *right)
{
	const struct stay *a = left, *b = right;

	return ORDER(b->length_ns, a->length_ns)
		?: ORDER(a->since_ns, b->since_ns)
		?: ORDER(a->thread, b->thread);
}

static void keep_longest(struct stays *stays)
{
	if (stays->count)
		qsort(stays->items, stays->count, sizeof(*stays->items), by_length);
	if (stays->count <= LONG_MOST)
		return;
	stays->left_out += stays->count - LONG_MOST;
	stays->count = LONG_MOST;
	stays->least_ns = stays->items[LONG_MOST - 1].length_ns;
}

static void add_stay(struct model_state *state, struct stays *stays, struct stay stay)
{
	struct stay *kept;

	if (stay.length_ns < stays->least_ns) {
		stays->left_out++;
		return;
	}
	stay.pid = summary_current(state->run->summary)->pid;
	stay.function = kept_name(state, stay.function);
	kept = ARRAY_ADD(stays);
	*kept = stay;
	if (stays->count == 2 * LONG_MOST)
		keep_longest(stays);
}

static void on_lane_wait(void *user, const struct lane_wait *wait)
{
	struct model_state *state = user;

	if (wait->until_ns > wait->since_ns)
		spans_add_wait(&state->waits, waiter_number(state, wait), wait->since_ns,
			       wait->until_ns);
	if (wait->until_ns < wait->since_ns + WAIT_LEAST)
		return;
	add_stay(state, &state->long_waits,
		 (struct stay){
			 .thread = wait->thread,
			 .waker = wait->waker_thread,
			 .kind = wait->kind,
			 .is_open = wait->is_open,
			 .function = wait->function,
			 .object = wait->object,
			 .since_ns = wait->since_ns,
			 .length_ns = wait->until_ns - wait->since_ns,
			 .backtrace = wait->waiter,
			 .waker_backtrace = wait->waker,
		 });
}

static void on_lane_hold(void *user, const struct lane_hold *hold)
{
	struct model_state *state = user;

	if (hold->until_ns <= hold->since_ns)
		return;
	add_stay(state, &state->long_holds,
		 (struct stay){
			 .thread = hold->thread,
			 .function = hold->function,
			 .object = hold->object,
			 .since_ns = hold->since_ns,
			 .length_ns = hold->until_ns - hold->since_ns,
			 .backtrace = hold->holder,
		 });
}

/*
 * Ends the process. If the process executed another program, its live objects count as released
 * now. Otherwise they count as never released, but as live only until now.
 */
static void model_process(void *user)
{
	struct model_state *state = user;
	const struct summary_process *process = summary_current(state->run->summary);
	bool is_exec = process->end == SUMMARY_EXEC;

	lanes_process(&state->lanes);
	lanes_clear(&state->lanes);
	spans_reach(&state->spans, process->end_ns);
	highs_release(&state->highs, report_process(state->run) - 1, process->end_ns);
	if (summary_has_ended(process))
		spans_release(&state->spans, state->first, process->end_ns, !is_exec);
	highs_begin_process(&state->highs);
	state->first = (uint32_t)state->numbers.count;
}

/* ---- the tables ---- */

struct weight {
	uint32_t number;
	uint64_t bytes;
};

static int by_weight(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	return ORDER(y->bytes, x->bytes);
}

/* The rows that call sites get in the page. The small call sites of a class share one row. */
struct folding {
	uint32_t *renumber; /* indexed by number of a site: its row, from 1 */
	/* indexed by row; NULL: the small call sites of a class share the row */
	const struct tally_place **rows;
	uint32_t *classes;
	uint32_t count;
	/* indexed by class: the row that its small call sites share; 0: no such row */
	uint32_t folded[LEDGER_CLASSES];
	uint32_t folded_count[LEDGER_CLASSES];
};

static uint32_t add_row(struct folding *folding, const struct tally_place *place, uint32_t class)
{
	folding->rows[folding->count] = place;
	folding->classes[folding->count] = class;
	return folding->count++;
}

/* Returns the maximum number of spans. The limits of the model's other tables depend on it. */
static uint32_t most_spans(const struct model_state *state)
{
	return state->run->detail ? state->run->detail : SPANS_MOST;
}

static void fold_places(const struct model_state *state, struct folding *folding)
{
	const struct tallies *tallies = &state->run->summary->tallies;
	size_t count = state->numbers.count, own = most_spans(state) / SPANS_A_PLACE;
	size_t most = (own < count ? own : count) + LEDGER_CLASSES + 1;
	/* the call sites, indexed by the number of the first site of each */
	cleanup_free const struct tally_place **places = memory_zalloc(count + 1, sizeof(*places));
	cleanup_free struct weight *weights = memory_zalloc(count + 1, sizeof(*weights));

	for (uint32_t i = 0; i < tallies_count(tallies); i++) {
		const struct entry *entry = tally_of_place(state->tally, i);

		if (entry && entry->number)
			places[entry->number] = tallies_place(tallies, i);
	}
	/* the weight is the number of acquired bytes or objects, whichever is larger */
	for (uint32_t i = 0; i < count; i++)
		weights[i].number = i;
	for (size_t i = 0; i < state->spans.list.count; i++) {
		const struct span *span = state->spans.list.items[i];
		int64_t weight = span->bytes > span->count ? span->bytes : span->count;

		weights[state->numbers.items[span->site].place].bytes +=
			weight > 0 ? (uint64_t)weight : 0;
	}
	qsort(weights, count, sizeof(*weights), by_weight);
	folding->renumber = memory_zalloc(count + 1, sizeof(*folding->renumber));
	folding->rows = memory_zalloc(most, sizeof(*folding->rows));
	folding->classes = memory_zalloc(most, sizeof(*folding->classes));
	for (size_t i = 0; i < count; i++) {
		const struct tally_place *place = places[weights[i].number];
		uint32_t *row = &folding->renumber[weights[i].number];

		if (!place)
			continue;
		if (folding->count < own) {
			*row = add_row(folding, place, place->class);
			continue;
		}
		if (!folding->folded[place->class])
			folding->folded[place->class] = add_row(folding, NULL, place->class);
		*row = folding->folded[place->class];
		folding->folded_count[place->class]++;
	}
	for (size_t i = 0; i < count; i++)
		folding->renumber[i] = folding->renumber[state->numbers.items[i].place];
}

static void put_steps(const struct model_state *state, struct table *table)
{
	const struct spans *spans = &state->drawn;
	uint64_t count = spans->first <= spans->last ? spans->last - spans->first + 1 : 1;

	for (uint64_t i = 0; i <= count; i++) {
		struct table_cell *row = table_add(table);
		uint64_t ns = spans->first <= spans->last ? (spans->first + i) << spans->shift : i;
		uint64_t end_ns = state->run->summary->end_ns;

		if (i == count && ns > end_ns && end_ns > (ns - 1) >> spans->shift << spans->shift)
			ns = end_ns; /* the last step ends at the end of the run */

		table_number(CELL(row, steps, time), report_time(state->run, ns));
	}
}

static void put_places(const struct model_state *state, const struct folding *folding,
		       struct table *table)
{
	for (uint32_t i = 0; i < folding->count; i++) {
		const struct ledger_class *class =
			ledger_class(state->run->ledger, folding->classes[i]);
		const struct tally_place *place = folding->rows[i];
		struct table_cell *row = table_add(table);

		table_text(table, CELL(row, sites, class), class->type);
		if (place) {
			table_text(table, CELL(row, sites, function), place->function);
		} else {
			uint32_t folded = folding->folded_count[folding->classes[i]];
			struct human count;

			human_count(&count, folded);
			table_format(table, CELL(row, sites, function), "%s smaller call site%s",
				     count.text, folded == 1 ? "" : "s");
		}
		table_number(CELL(row, sites, has_bytes), class->has_bytes);
		if (place)
			table_backtrace(CELL(row, sites, backtrace), place->backtrace);
	}
}

static void put_spans(const struct model_state *state, struct table *table)
{
	for (size_t i = 0; i < state->drawn.list.count; i++) {
		const struct span *span = state->drawn.list.items[i];
		struct table_cell *row = table_add(table);

		table_number(CELL(row, spans, site), span->site / state->processes);
		if (state->processes > 1)
			table_number(CELL(row, spans, process), span->site % state->processes);
		table_number(CELL(row, spans, acquired_step), span->acquired - state->drawn.first);
		if (span->lost != SPANS_NEVER && !span->is_last)
			table_number(span->is_left ? CELL(row, spans, ended_step)
						   : CELL(row, spans, released_step),
				     span->lost - state->drawn.first);
		table_number(CELL(row, spans, count), (uint64_t)span->count);
		table_number(CELL(row, spans, bytes), (uint64_t)span->bytes);
	}
}

/*
 * Adds an entry to the current row of its class if the step of the page and the process are equal.
 * Otherwise writes this row to the table and begins another row. Process UINT32_MAX means that
 * entries are sums over all processes.
 */
static void put_high(const struct model_state *state, struct table *table, struct high *rows,
		     uint32_t class, const struct high *high)
{
	uint64_t step = high->step << state->highs.shift >> state->drawn.shift;
	struct high *row = &rows[class];
	struct table_cell *cells;

	if (row->process == high->process && row->step == step) {
		for (int unit = 0; unit < HIGHS_UNITS; unit++)
			if (high->most[unit] > row->most[unit])
				row->most[unit] = high->most[unit];
		memcpy(row->end, high->end, sizeof(row->end));
		return;
	}
	/* skip a maximum that equals the amount at the step's end: the page knows this amount */
	if (memcmp(row->most, row->end, sizeof(row->end)) != 0) {
		cells = table_add(table);
		table_text(table, CELL(cells, highs, class),
			   ledger_class(state->run->ledger, class)->type);
		if (row->process != UINT32_MAX)
			table_number(CELL(cells, highs, process), row->process);
		table_number(CELL(cells, highs, step), row->step - state->drawn.first);
		table_number(CELL(cells, highs, count), (uint64_t)row->most[HIGHS_COUNT]);
		table_number(CELL(cells, highs, bytes), (uint64_t)row->most[HIGHS_BYTES]);
	}
	*row = *high;
	row->step = step;
}

static void put_highs(const struct model_state *state, struct table *table)
{
	const struct highs *highs = &state->highs;
	size_t steps = highs->first <= highs->last ? highs->last - highs->first + 1 : 0;
	struct high rows[LEDGER_CLASSES] = { 0 }, end = { .step = UINT64_MAX >> highs->shift };
	cleanup_free struct high *sums = highs_sum(highs);

	for (size_t i = 0; state->processes > 1 && i < highs->list.count; i++)
		put_high(state, table, rows, highs->list.items[i].class, &highs->list.items[i]);
	for (uint32_t class = 0; class < LEDGER_CLASSES; class ++) {
		for (size_t i = 0; i < steps; i++) {
			struct high *sum = &sums[class * steps + i];

			sum->step = highs->first + i;
			sum->process = UINT32_MAX;
			put_high(state, table, rows, class, sum);
		}
		put_high(state, table, rows, class, &end);
	}
}

static void put_waits(const struct model_state *state, struct table *table)
{
	const struct spans *waits = &state->drawn_waits;

	for (size_t i = 0; i < waits->list.count; i++) {
		const struct span *wait = waits->list.items[i];
		const struct waiter *waiter = &state->waiters.items[wait->site];
		struct table_cell *row = table_add(table);
		uint64_t begin_ns = wait->acquired << waits->shift;
		uint64_t start_ns = state->run->summary->start_ns;

		/* the first step begins at the start of the run, as in the table `steps` */
		begin_ns = (uint64_t)wait->count * (begin_ns > start_ns ? begin_ns : start_ns);
		table_number(CELL(row, waits_by_step, step), wait->acquired - state->drawn.first);
		table_number(CELL(row, waits_by_step, end_step), wait->lost - state->drawn.first);
		table_number(CELL(row, waits_by_step, offset),
			     wait->since_ns > begin_ns ? wait->since_ns - begin_ns : 0);
		table_number(CELL(row, waits_by_step, count), (uint64_t)wait->count);
		table_number(CELL(row, waits_by_step, wait_time), (uint64_t)wait->bytes);
		table_backtrace(CELL(row, waits_by_step, backtrace), waiter->backtrace);
		table_number(CELL(row, waits_by_step, process), waiter->process);
		table_text(table, CELL(row, waits_by_step, object_kind), lane_word(waiter->kind));
		table_text(table, CELL(row, waits_by_step, function), waiter->function);
		if (waiter->is_open)
			table_number(CELL(row, waits_by_step, is_open), 1);
	}
}

/* Fills the columns that the tables longest_waits and long_holds share. */
static void put_stay(const struct model_state *state, struct table *table, struct table_cell *row,
		     const struct stay *stay)
{
	_Static_assert(COLUMN_longest_waits_backtrace - FIRST_longest_waits ==
			       COLUMN_long_holds_backtrace - FIRST_long_holds,
		       "longest_waits and long_holds must begin with the same columns");
	table_number(CELL(row, longest_waits, pid), stay->pid);
	table_number(CELL(row, longest_waits, thread), stay->thread);
	table_number(CELL(row, longest_waits, since), report_time(state->run, stay->since_ns));
	table_number(CELL(row, longest_waits, wait_time), stay->length_ns);
	table_number(CELL(row, longest_waits, object), stay->object);
	table_backtrace(CELL(row, longest_waits, backtrace), stay->backtrace);
	table_text(table, CELL(row, longest_waits, function), stay->function);
}

/* Returns how many of the longest waits or holds the page shows. */
static size_t drawn_stays(const struct model_state *state, struct stays *stays)
{
	size_t most = most_spans(state) / A_LONG_ONE;

	keep_longest(stays);
	return stays->count < most ? stays->count : most;
}

static void put_left_out(struct table *table, const struct stays *stays, const char *what)
{
	uint64_t left_out = stays->left_out + stays->count - table->rows.count;

	if (left_out)
		table_note(table, "The %zu longest %s are drawn; %llu shorter ones are not.",
			   table->rows.count, what, (unsigned long long)left_out);
}

static void put_long_waits(struct model_state *state, struct table *table)
{
	size_t count = drawn_stays(state, &state->long_waits);

	for (size_t i = 0; i < count; i++) {
		const struct stay *stay = &state->long_waits.items[i];
		struct table_cell *row = table_add(table);

		put_stay(state, table, row, stay);
		table_text(table, CELL(row, longest_waits, object_kind), lane_word(stay->kind));
		if (stay->is_open)
			table_number(CELL(row, longest_waits, is_open), 1);
		if (stay->waker)
			table_number(CELL(row, longest_waits, waker), stay->waker);
		if (stay->waker_backtrace)
			table_backtrace(CELL(row, longest_waits, waker_backtrace),
					stay->waker_backtrace);
	}
	put_left_out(table, &state->long_waits, "waits");
}

static void put_long_holds(struct model_state *state, struct table *table)
{
	size_t count = drawn_stays(state, &state->long_holds);

	for (size_t i = 0; i < count; i++) {
		struct table_cell *row = table_add(table);

		put_stay(state, table, row, &state->long_holds.items[i]);
	}
	put_left_out(table, &state->long_holds, "holds of locks");
}

/*
 * Makes separate spans for each process, unless there would be too many spans: gives each pair of
 * row and process a number of its own.
 */
static void split_processes(struct model_state *state, struct folding *folding)
{
	size_t processes = state->run->summary->processes.count;

	state->processes = 1;
	if (processes < 2 || state->spans.list.count > most_spans(state) ||
	    processes > UINT32_MAX / (folding->count + 1))
		return;
	state->processes = (uint32_t)processes;
	for (size_t i = 0; i < state->numbers.count; i++)
		folding->renumber[i] = folding->renumber[i] * state->processes +
				       state->numbers.items[i].process % state->processes;
}

static void model_end(void *user, struct tables *tables)
{
	struct model_state *state = user;
	const struct spans *waits = &state->waits;
	struct folding folding = { .count = 0 };

	/*
	 * waits and live objects share one time axis: extend the axis to the start of the run, and
	 * to the first and last wait
	 */
	if (state->spans.first <= state->spans.last)
		spans_reach(&state->spans, state->run->summary->start_ns);
	if (waits->first <= waits->last) {
		spans_reach(&state->spans, waits->first << waits->shift);
		spans_reach(&state->spans, waits->last << waits->shift);
	}
	/* mark the objects that were still live when the last process with objects ended */
	for (size_t i = 0; i < state->spans.list.count; i++) {
		struct span *span = state->spans.list.items[i];
		uint32_t process = state->numbers.items[span->site].process;
		uint64_t end_ns = state->run->summary->processes.items[process].end_ns;

		span->is_last = span->is_left && end_ns >> state->highs.shift >= state->highs.last;
	}
	fold_places(state, &folding);
	split_processes(state, &folding);
	/* free the results of an earlier call of model_end(), which may have had another limit */
	spans_free(&state->drawn);
	spans_free(&state->drawn_waits);
	spans_settle(&state->spans, folding.renumber, most_spans(state), &state->drawn);
	spans_settle(&state->waits, NULL, most_spans(state), &state->drawn_waits);
	spans_widen(&state->drawn, state->drawn_waits.shift);
	spans_widen(&state->drawn_waits, state->drawn.shift);
	put_steps(state, tables_begin(tables, TABLE_steps));
	put_places(state, &folding, tables_begin(tables, TABLE_sites));
	put_spans(state, tables_begin(tables, TABLE_spans));
	put_highs(state, tables_begin(tables, TABLE_highs));

	struct table *table = tables_begin(tables, TABLE_process_list);

	for (size_t i = 0; i < state->run->summary->processes.count; i++) {
		const struct summary_process *process = &state->run->summary->processes.items[i];
		struct table_cell *row = table_add(table);

		table_text(table, CELL(row, process_list, program), process->name);
		table_number(CELL(row, process_list, pid), process->pid);
	}
	put_waits(state, tables_begin(tables, TABLE_waits_by_step));
	table = tables_begin(tables, TABLE_marks);
	for (size_t i = 0; i < state->marks.count; i++) {
		struct table_cell *row = table_add(table);

		table_text(table, CELL(row, marks, text), state->marks.items[i].text);
		table_number(CELL(row, marks, time),
			     report_time(state->run, state->marks.items[i].time_ns));
	}
	put_long_waits(state, tables_begin(tables, TABLE_longest_waits));
	put_long_holds(state, tables_begin(tables, TABLE_long_holds));
	free(folding.renumber);
	free(folding.rows);
	free(folding.classes);
}

/* ---- begin and end ---- */

static int model_begin(void *user, struct report_run *run, struct error *err)
{
	struct model_state *state = user;

	(void)err;
	spans_init(&state->spans);
	spans_init(&state->waits);
	highs_init(&state->highs);
	map_init(&state->waiter_index);
	lanes_begin(&state->lanes, run,
		    &(struct lanes_listener){ on_lane_wait, on_lane_hold, state });
	state->tally = report_listen(run, sizeof(struct entry), model_merge, model_move, state);
	add_number(state); /* number 0 is unused */
	state->first = 1;
	return 0;
}

static void model_destroy(void *user)
{
	struct model_state *state = user;

	for (size_t i = 0; i < state->marks.count; i++)
		free(state->marks.items[i].text);
	free(state->marks.items);
	free(state->long_waits.items);
	free(state->long_holds.items);
	free(state->names.items);
	pool_free(&state->pool);
	lanes_free(&state->lanes);
	free(state->waiters.items);
	map_clear(&state->waiter_index);
	free(state->numbers.items);
	spans_free(&state->drawn);
	spans_free(&state->drawn_waits);
	spans_free(&state->waits);
	spans_free(&state->spans);
	highs_free(&state->highs);
}

const struct report report_model = {
	.has_detail = true,
	.wants_ledger = true,
	.wants_summary = true,
	.state_size = sizeof(struct model_state),
	.begin = model_begin,
	.event = model_event,
	.note = model_note,
	.process = model_process,
	.end = model_end,
	.destroy = model_destroy,
};
