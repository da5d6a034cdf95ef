/* SPDX-License-Identifier: MIT */
/*
 * A run by place and time, at a size that does not grow with its events: the sums that a page needs
 * to answer for any window what was held, gained, kept and waited for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "postproc/views/report.h"
#include "postproc/views/spans.h"
#include "notes.h"

#define PLACES_MOST 5000u
#define SPANS_MOST  200000u
#define WAIT_LEAST  10000u /* ns: what is shorter is no wait that anybody would see */

/* A place of the run, or a site of the process that is being read. */
struct entry {
	uint32_t number; /* from 1; 0: none yet */
};

struct mark {
	uint64_t time_ns;
	char *text;
};

struct model_state {
	struct report_run *run;
	struct tally *tally;
	struct spans spans, waits; /* of waits: count and, as bytes, ns */
	struct {
		uint32_t *items; /* by number of a site: that of its place */
		size_t count, capacity;
	} numbers;
	uint32_t first; /* number of the first site of the process */
	struct {
		const struct atlas_backtrace **items;
		size_t count, capacity;
	} waiters;		 /* by number of a wait's site */
	struct map waiter_index; /* by address of the backtrace: number + 1 */
	struct {
		struct mark *items;
		size_t count, capacity;
	} marks;
};

/* ---- the fold ---- */

static uint32_t add_number(struct model_state *state)
{
	uint32_t *number = ARRAY_ADD(&state->numbers);

	if (!number)
		return 0;
	*number = (uint32_t)state->numbers.count - 1;
	return *number;
}

/* Sites of several processes that are one place have the number of the first. */
static void merge(void *user, void *of_run, const void *of_process)
{
	struct model_state *state = user;
	struct entry *run = of_run;
	const struct entry *process = of_process;

	if (!process->number)
		return;
	if (!run->number)
		run->number = process->number;
	state->numbers.items[process->number] = run->number;
}

static int on_move(void *user, const struct ledger_move *move, struct error *err)
{
	struct model_state *state = user;
	struct entry *entry = tally_entry(state->tally, move->site);
	int64_t bytes = (int64_t)move->bytes, count = move->count;
	uint64_t gained = move->item->gained_ns, now = move->event->time_ns;
	int ret;

	if (entry && !entry->number)
		entry->number = add_number(state);
	if (!entry || !entry->number)
		return report_no_memory(err);
	if (move->is_gain) {
		ret = spans_add(&state->spans, entry->number, now, SPANS_NEVER, count, bytes);
		return ret ? report_no_memory(err) : 0;
	}
	ret = spans_add(&state->spans, entry->number, gained, SPANS_NEVER, count, -bytes);
	if (ret == 0)
		ret = spans_add(&state->spans, entry->number, gained, now, -count, bytes);
	return ret ? report_no_memory(err) : 0;
}

static bool is_wait(const struct event *event)
{
	return (event->operation == OPERATION_ACQUIRE || event->operation == OPERATION_WAIT ||
		event->operation == OPERATION_END) &&
	       event->leave_ns > event->enter_ns && event->leave_ns - event->enter_ns >= WAIT_LEAST;
}

/* The number of who waited; UINT32_MAX: no memory. */
static uint32_t waiter_number(struct model_state *state, const struct event *event)
{
	struct atlas *atlas = &state->run->summary->atlas;
	const struct atlas_backtrace *backtrace =
		atlas_backtrace(atlas, event->backtrace, event->index);
	struct map_entry *entry =
		backtrace ? map_put(&state->waiter_index, 0, (uint64_t)(uintptr_t)backtrace) : NULL;
	const struct atlas_backtrace **waiter;

	if (!entry)
		return UINT32_MAX;
	if (entry->value)
		return entry->value - 1;
	waiter = ARRAY_ADD(&state->waiters);
	entry->value = (uint32_t)state->waiters.count + !waiter;
	if (!waiter)
		return UINT32_MAX;
	*waiter = backtrace;
	return (uint32_t)state->waiters.count - 1;
}

static int on_event(void *user, const struct event *event, struct error *err)
{
	struct model_state *state = user;
	uint32_t number;

	if (!is_wait(event))
		return 0;
	number = waiter_number(state, event);
	if (number == UINT32_MAX || spans_add(&state->waits, number, event->leave_ns, SPANS_NEVER,
					      1, (int64_t)(event->leave_ns - event->enter_ns)))
		return report_no_memory(err);
	return 0;
}

static int on_note(void *user, const struct event *event, struct error *err)
{
	struct model_state *state = user;
	const char *text = event_argument(event, "text");
	struct mark *mark;

	if (strcmp(event->function->name, NOTE_MARK) != 0 || !text)
		return 0;
	mark = ARRAY_ADD(&state->marks);
	if (!mark)
		return report_no_memory(err);
	*mark = (struct mark){ event->time_ns, strdup(text) };
	return mark->text ? 0 : report_no_memory(err);
}

/* What a program held that ran another one is gone with it. */
static int on_process(void *user, struct error *err)
{
	struct model_state *state = user;
	const struct summary_process *process = summary_current(state->run->summary);
	int ret = spans_reach(&state->spans, process->end_ns);

	if (ret == 0 && process->end == SUMMARY_EXEC)
		ret = spans_lose(&state->spans, state->first, process->end_ns);
	state->first = (uint32_t)state->numbers.count;
	return ret ? report_no_memory(err) : 0;
}

/* ---- the sheets ---- */

struct weight {
	uint32_t number;
	uint64_t bytes;
};

static int by_weight(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

/* Where places go that are too small for a row of their own: one a class. */
struct folding {
	uint32_t *renumber;		 /* by number of a site: that of its row, from 1 */
	const struct tally_place **rows; /* by number of a row; NULL: what was folded of a class */
	uint32_t *classes;
	uint32_t count;
	uint32_t folded[LEDGER_CLASSES]; /* row of the class; 0: nothing was folded */
};

static void folding_free(struct folding *folding)
{
	free(folding->renumber);
	free(folding->rows);
	free(folding->classes);
}

/* The larger of bytes and objects that a place ever gained is what it weighs. */
static struct weight *weigh(const struct model_state *state)
{
	struct weight *weights = calloc(state->numbers.count + 1, sizeof(*weights));

	for (uint32_t i = 0; weights && i < state->numbers.count; i++)
		weights[i].number = i;
	for (size_t i = 0; weights && i < state->spans.list.count; i++) {
		const struct span *span = state->spans.list.items[i];
		int64_t weight = span->bytes > span->count ? span->bytes : span->count;

		weights[state->numbers.items[span->site]].bytes +=
			weight > 0 ? (uint64_t)weight : 0;
	}
	if (weights)
		qsort(weights, state->numbers.count, sizeof(*weights), by_weight);
	return weights;
}

static uint32_t add_row(struct folding *folding, const struct tally_place *place, uint32_t class)
{
	folding->rows[folding->count] = place;
	folding->classes[folding->count] = class;
	return folding->count++;
}

/* Places by number of their sites; NULL where nothing was gained. */
static const struct tally_place **find_places(const struct model_state *state)
{
	const struct tallies *tallies = &state->run->summary->tallies;
	const struct tally_place **places = calloc(state->numbers.count + 1, sizeof(*places));

	for (uint32_t i = 0; places && i < tallies_count(tallies); i++) {
		const struct entry *entry = tally_of_place(state->tally, i);

		if (entry && entry->number)
			places[entry->number] = tallies_place(tallies, i);
	}
	return places;
}

static int fold_places(const struct model_state *state, struct folding *folding)
{
	const struct tally_place **places = find_places(state);
	struct weight *weights = weigh(state);
	size_t count = state->numbers.count, most = PLACES_MOST + LEDGER_CLASSES + 1;

	folding->renumber = calloc(count + 1, sizeof(*folding->renumber));
	folding->rows = calloc(most, sizeof(*folding->rows));
	folding->classes = calloc(most, sizeof(*folding->classes));
	for (size_t i = 0; weights && places && folding->renumber && folding->rows &&
			   folding->classes && i < count;
	     i++) {
		const struct tally_place *place = places[weights[i].number];
		uint32_t *row = &folding->renumber[weights[i].number];

		if (!place)
			continue;
		if (folding->count < PLACES_MOST) {
			*row = add_row(folding, place, place->class);
			continue;
		}
		if (!folding->folded[place->class])
			folding->folded[place->class] = add_row(folding, NULL, place->class);
		*row = folding->folded[place->class];
	}
	for (size_t i = 0; folding->renumber && i < count; i++)
		folding->renumber[i] = folding->renumber[state->numbers.items[i]];
	free(weights);
	free(places);
	return weights && places && folding->renumber && folding->rows && folding->classes
		       ? 0
		       : -ENOMEM;
}

static int put_bins(const struct model_state *state, struct sheet *sheet)
{
	const struct spans *spans = &state->spans;
	uint64_t steps = spans->first <= spans->last ? spans->last - spans->first + 1 : 1;

	for (uint64_t i = 0; i <= steps; i++) {
		struct sheet_cell *row = sheet_add(sheet);
		uint64_t ns = spans->first <= spans->last ? (spans->first + i) << spans->shift : i;

		if (!row)
			return -ENOMEM;
		sheet_number(CELL(row, bins, time), report_time(state->run, ns));
	}
	return 0;
}

static int put_places(const struct model_state *state, const struct folding *folding,
		      struct sheet *sheet)
{
	for (uint32_t i = 0; i < folding->count; i++) {
		const struct ledger_class *class =
			ledger_class(state->run->ledger, folding->classes[i]);
		const struct tally_place *place = folding->rows[i];
		struct sheet_cell *row = sheet_add(sheet);

		if (!row || sheet_text(sheet, CELL(row, places, class), class->type) ||
		    sheet_text(sheet, CELL(row, places, call),
			       place ? place->function : "smaller places"))
			return -ENOMEM;
		sheet_number(CELL(row, places, has_bytes), class->has_bytes);
		if (place)
			sheet_backtrace(CELL(row, places, backtrace), place->backtrace);
	}
	return 0;
}

static int put_spans(const struct model_state *state, struct sheet *sheet)
{
	for (size_t i = 0; i < state->spans.list.count; i++) {
		const struct span *span = state->spans.list.items[i];
		struct sheet_cell *row = sheet_add(sheet);

		if (!row)
			return -ENOMEM;
		sheet_number(CELL(row, spans, site), span->site);
		sheet_number(CELL(row, spans, gained), span->gained - state->spans.first);
		if (span->lost != SPANS_NEVER)
			sheet_number(CELL(row, spans, lost), span->lost - state->spans.first);
		sheet_number(CELL(row, spans, count), (uint64_t)span->count);
		sheet_number(CELL(row, spans, bytes), (uint64_t)span->bytes);
	}
	return 0;
}

static int put_waits(const struct model_state *state, struct sheet *sheet)
{
	for (size_t i = 0; i < state->waits.list.count; i++) {
		const struct span *wait = state->waits.list.items[i];
		struct sheet_cell *row = sheet_add(sheet);

		if (!row)
			return -ENOMEM;
		sheet_number(CELL(row, waits_over_time, step),
			     spans_step(&state->spans, wait->gained << state->waits.shift));
		sheet_number(CELL(row, waits_over_time, count), (uint64_t)wait->count);
		sheet_number(CELL(row, waits_over_time, waited), (uint64_t)wait->bytes);
		sheet_backtrace(CELL(row, waits_over_time, backtrace),
				state->waiters.items[wait->site]);
	}
	return 0;
}

static int put_marks(const struct model_state *state, struct sheet *sheet)
{
	for (size_t i = 0; i < state->marks.count; i++) {
		struct sheet_cell *row = sheet_add(sheet);

		if (!row || sheet_text(sheet, CELL(row, marks, text), state->marks.items[i].text))
			return -ENOMEM;
		sheet_number(CELL(row, marks, time),
			     report_time(state->run, state->marks.items[i].time_ns));
	}
	return 0;
}

/* Steps of waits and of what is held are those of one time line. */
static int align(struct model_state *state)
{
	struct spans *waits = &state->waits;
	int ret = 0;

	if (waits->first <= waits->last) {
		ret = spans_reach(&state->spans, waits->first << waits->shift);
		if (ret == 0)
			ret = spans_reach(&state->spans, waits->last << waits->shift);
	}
	return ret;
}

static int end(void *user, struct sheets *sheets, struct error *err)
{
	struct model_state *state = user;
	struct folding folding = { .count = 0 };
	int ret = align(state);

	if (ret == 0)
		ret = fold_places(state, &folding);
	if (ret == 0)
		ret = spans_settle(&state->spans, folding.renumber, SPANS_MOST);
	if (ret == 0)
		ret = put_bins(state, sheets_begin(sheets, SHEET_bins));
	if (ret == 0)
		ret = put_places(state, &folding, sheets_begin(sheets, SHEET_places));
	if (ret == 0)
		ret = put_spans(state, sheets_begin(sheets, SHEET_spans));
	if (ret == 0)
		ret = put_waits(state, sheets_begin(sheets, SHEET_waits_over_time));
	if (ret == 0)
		ret = put_marks(state, sheets_begin(sheets, SHEET_marks));
	folding_free(&folding);
	return ret ? report_no_memory(err) : 0;
}

/* ---- begin and end ---- */

static int begin(void **result, struct report_run *run, struct error *err)
{
	struct model_state *state = calloc(1, sizeof(*state));

	if (!state)
		return report_no_memory(err);
	state->run = run;
	spans_init(&state->spans);
	spans_init(&state->waits);
	map_init(&state->waiter_index);
	state->tally = report_listen(run, sizeof(struct entry), merge, on_move, state);
	*result = state;
	add_number(state); /* 0 is none */
	state->first = 1;
	return state->numbers.count ? 0 : report_no_memory(err);
}

static void destroy(void *user)
{
	struct model_state *state = user;

	for (size_t i = 0; i < state->marks.count; i++)
		free(state->marks.items[i].text);
	free(state->marks.items);
	free(state->waiters.items);
	map_clear(&state->waiter_index);
	free(state->numbers.items);
	spans_free(&state->waits);
	spans_free(&state->spans);
	free(state);
}

const struct report report_model = {
	.wants_ledger = true,
	.begin = begin,
	.event = on_event,
	.note = on_note,
	.process = on_process,
	.end = end,
	.destroy = destroy,
};
