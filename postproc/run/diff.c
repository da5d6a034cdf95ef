/* SPDX-License-Identifier: MIT */
/*
 * The report on differences from an older run. Call sites of the two runs are matched by the
 * functions and modules of their backtraces, so different addresses and line numbers do not matter.
 * A frame without a name is matched by its offset if both runs used the same build of the module.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "postproc/memory/measure.h"
#include "naming/paths.h"
#include "postproc/report/report.h"

/*
 * number of innermost functions that two paths must have in common to be matched despite a renamed
 * function
 */
#define INNER	  2u
#define WAITED_NS 1000000u /* in ns: smaller sums of waits are ignored */

/* The call sites of both runs that have the same path (the functions of their backtraces). */
struct spot {
	/* place.backtrace is from the new run if the call site exists in that run */
	struct measure_place place;
	uint32_t length;
	const struct path_function *path[];
};

/* Kinds of sums that are compared for each class of resources. */
enum { PEAK, GAINED, HELD, WAITED, TOTALS };

/* A sum. Index 0: in the new run; 1: in the old run. */
struct total {
	uint64_t amount[2];
	double variance[2]; /* variance of the amounts, if they are estimates */
};

struct diff_state {
	struct report_run *run;
	struct measure *measure;
	struct total totals[LEDGER_CLASSES][TOTALS];
	struct paths paths;
	struct pool pool;
	struct hash_table table;
	struct hash_table lone; /* spots that exist in only one run and are not matched yet */
	ARRAY_OF(struct spot *) spots;
};

static int diff_begin(void *user, struct report_run *run, struct error *err)
{
	struct diff_state *state = user;

	hash_table_init(&state->table);
	hash_table_init(&state->lone);
	paths_init(&state->paths, run->naming);
	return measure_begin(&state->measure, run, MEASURE_HELD, true, err);
}

static void add_totals(struct diff_state *state, uint32_t class)
{
	const struct ledger_sum *sum = ledger_sum(state->run->ledger, class);
	bool has_bytes = ledger_class(state->run->ledger, class)->has_bytes;
	struct total *totals = state->totals[class];
	int run = state->run->is_base;

	if (sum->peak > totals[PEAK].amount[run]) {
		totals[PEAK].amount[run] = sum->peak;
		totals[PEAK].variance[run] = sum->peak_variance;
	}
	totals[GAINED].amount[run] += sum->acquired;
	totals[GAINED].variance[run] += sum->acquired_variance;
	if (summary_current(state->run->summary)->end == SUMMARY_EXEC)
		return;
	totals[HELD].amount[run] += has_bytes ? sum->bytes : sum->count;
	totals[HELD].variance[run] += sum->variance;
}

static void diff_process(void *user)
{
	struct diff_state *state = user;
	uint32_t lock = ledger_class_of(state->run->ledger, RESOURCE_LOCK);
	struct locks_times times = { 0 };

	for (uint32_t i = 0; i < ledger_class_count(state->run->ledger); i++)
		add_totals(state, i);
	locks_sum(&state->run->summary->locks, &times);
	state->totals[lock][WAITED].amount[state->run->is_base] += times.waited_ns;
	measure_process(state);
}

/* ---- matching ---- */

struct key {
	const struct measure_place *place;
	struct path_function **path;
	size_t length;
};

static bool is_spot(const void *item, const void *wanted)
{
	const struct spot *spot = item;
	const struct key *key = wanted;

	return spot->length == key->length && !strcmp(spot->place.class, key->place->class) &&
	       !memcmp(spot->path, key->path, key->length * sizeof(*spot->path));
}

static void add_amounts(struct measure_place *to, const struct measure_place *from)
{
	for (int run = 0; run < 2; run++) {
		to->amount[run] += from->amount[run];
		to->count[run] += from->count[run];
		to->variance[run] += from->variance[run];
	}
}

static void add_place(struct diff_state *state, const struct measure_place *place)
{
	struct key key = { .place = place };
	struct spot *spot;
	uint64_t hash;
	size_t size;

	key.length = paths_make(&state->paths, place->backtrace, place->function);
	key.path = state->paths.path;
	hash = hash_two(state->table.seed, hash_words(state->table.seed, key.path, key.length),
			place->rank);
	spot = hash_table_find(&state->table, hash, is_spot, &key);
	if (spot) {
		if (place->count[0])
			spot->place.backtrace = place->backtrace;
		add_amounts(&spot->place, place);
		return;
	}
	size = key.length * sizeof(struct path_function *);
	spot = pool_alloc(&state->pool, sizeof(*spot) + size);
	spot->place = *place;
	spot->length = (uint32_t)key.length;
	memcpy(spot->path, key.path, size);
	hash_table_add(&state->table, hash, spot);
	*ARRAY_ADD(&state->spots) = spot;
}

/* ---- renamed functions ---- */

/* Returns the INNER innermost functions of a spot, which are the last ones of its path. */
static const struct path_function *const *inner_of(const struct spot *spot)
{
	return spot->path + spot->length - INNER;
}

/*
 * Whether two spots differ only because a function was renamed. One spot must be only in the old
 * run, the other only in the new run, with equal amounts. Their paths must differ in exactly one
 * function, which is not one of the INNER innermost.
 */
static bool is_renamed(const void *item, const void *key)
{
	const struct spot *one = item, *two = key;
	int now = two->place.count[0] ? 0 : 1;
	size_t differences = 0;

	if (one->length != two->length || !one->place.count[!now] || one->place.count[now] ||
	    one->place.count[!now] != two->place.count[now] ||
	    one->place.amount[!now] != two->place.amount[now] ||
	    strcmp(one->place.class, two->place.class) != 0 ||
	    memcmp(inner_of(one), inner_of(two), INNER * sizeof(*one->path)) != 0)
		return false;
	for (uint32_t i = 0; i < one->length; i++)
		differences += one->path[i] != two->path[i];
	return differences == 1;
}

/*
 * Joins each pair of spots that differ only because a function was renamed. The table `lone` has
 * the spots that exist in only one run and have no match so far.
 */
static void join_renamed(struct diff_state *state)
{
	for (size_t i = 0; i < state->spots.count; i++) {
		struct spot *spot = state->spots.items[i], *other;
		uint64_t seed = state->lone.seed, hash;

		if (!spot->place.count[0] == !spot->place.count[1] || spot->length <= INNER)
			continue;
		hash = hash_two(seed, hash_words(seed, inner_of(spot), INNER), spot->length);
		other = hash_table_find(&state->lone, hash, is_renamed, spot);
		if (!other) {
			hash_table_add(&state->lone, hash, spot);
			continue;
		}
		add_amounts(&other->place, &spot->place);
		for (int run = 0; run < 2; run++) {
			spot->place.amount[run] = spot->place.count[run] = 0;
			spot->place.variance[run] = 0;
		}
	}
}

/* ---- the table ---- */

/*
 * Returns a word for the change of a call site. If memory was sampled, a call site without samples
 * may nevertheless have existed, so it is not called new or gone.
 */
static const char *fate_of(const struct measure_place *place)
{
	if (!place->count[1] && !place->sample[1])
		return "new";
	if (!place->count[0] && !place->sample[0])
		return "gone";
	if (place->amount[0] != place->amount[1])
		return place->amount[0] > place->amount[1] ? "more" : "less";
	return place->count[0] > place->count[1] ? "more" : "less";
}

/*
 * Whether a call site has changed. Times always differ a little, so a time must have doubled or
 * halved.
 */
static bool is_changed(const struct measure_place *place)
{
	uint64_t old = place->amount[1], new = place->amount[0];

	if (place->has_ns)
		return new / 2 > old || old / 2 > new;
	return new != old || place->count[0] != place->count[1];
}

/* Returns the error of the difference between the two amounts, or 0 if it is exact. */
static uint64_t error_of(const struct measure_place *place)
{
	struct table_cell sum = { .number = measure_error(place, 0) };
	const struct table_cell other = { .number = measure_error(place, 1) };

	table_add_to(TABLE_ERROR, &sum, &other);
	return sum.number;
}

/*
 * Whether the difference between two estimates may be due to chance. The limit is twice the error:
 * with a smaller limit, some of hundreds of unchanged call sites would be listed as changed.
 */
static bool is_within(uint64_t one, uint64_t other, uint64_t error)
{
	uint64_t change = one > other ? one - other : other - one;

	return error && change <= 2 * error;
}

static void put_amount(struct table_cell *cell, uint64_t amount, const struct measure_place *place)
{
	table_amount(cell, amount, place->has_bytes);
	cell->has_ns = place->has_ns;
}

static void diff_put(struct table *table, const struct measure_place *place)
{
	struct table_cell *row = table_add(table);

	table_group(table, &row[0], place->class, place->rank);
	table_text(table, CELL(row, diff, state), fate_of(place));
	put_amount(CELL(row, diff, change), place->amount[0] - place->amount[1], place);
	if (error_of(place))
		put_amount(CELL(row, diff, change_error), error_of(place), place);
	put_amount(CELL(row, diff, old), place->amount[1], place);
	put_amount(CELL(row, diff, new), place->amount[0], place);
	table_number(CELL(row, diff, old_count), place->count[1]);
	table_number(CELL(row, diff, new_count), place->count[0]);
	table_backtrace(CELL(row, diff, backtrace), place->backtrace);
}

/*
 * Whether a sum has changed enough to be listed: by more than a tenth of the larger value. A time,
 * which varies more from run to run, must have changed by more than half of the larger value.
 */
static bool differs(int what, const struct total *total)
{
	uint64_t old = total->amount[1], new = total->amount[0];
	uint64_t less = old < new ? old : new, more = old < new ? new : old;

	if (what == WAITED)
		return more / 2 > less && more >= WAITED_NS;
	return more - less > more / 10 &&
	       !is_within(more, less, estimate_error(total->variance[0] + total->variance[1]));
}

static void put_total(struct diff_state *state, struct table *table, uint32_t class, int what)
{
	static const char *const words[TOTALS] = { "peak", "acquired", "live", "wait_time" };
	const struct ledger_class *facts = ledger_class(state->run->ledger, class);
	const struct total *total = &state->totals[class][what];
	const uint64_t *amounts = total->amount;
	struct measure_place as = {
		.has_bytes = facts->has_bytes && (what == PEAK || what == HELD),
		.has_ns = what == WAITED,
	};
	struct table_cell *row = table_add(table);

	table_text(table, CELL(row, totals, class), facts->type);
	table_text(table, CELL(row, totals, what), words[what]);
	put_amount(CELL(row, totals, change), amounts[0] - amounts[1], &as);
	table_error(CELL(row, totals, change_error), total->variance[0] + total->variance[1],
		    as.has_bytes);
	put_amount(CELL(row, totals, old), amounts[1], &as);
	put_amount(CELL(row, totals, new), amounts[0], &as);
}

/*
 * Sets the note. left_out: number of call sites that are not listed because their change may be due
 * to chance.
 */
static void put_note(const struct diff_state *state, struct table *table, size_t left_out)
{
	static const char *const notes[] = {
		[MEASURE_BYTES] = "by bytes: bytes acquired, whether or not they were released",
		[MEASURE_COUNT] = "by count: calls that acquired an object",
		[MEASURE_HELD] = "by live: bytes or objects that were live at exit",
		[MEASURE_TEMP] = "by temporary: temporary objects (--within), in bytes or objects",
		[MEASURE_HOLD] = "by hold_time: time for which locks were held; only call sites "
				 "whose time has at least doubled or halved",
		[MEASURE_WAIT] = "by wait_time: time in calls that may wait; only call sites whose "
				 "time has at least doubled or halved",
	};
	enum measure_kind kind = measure_kind(state->measure);
	bool have_calls_changed = false;
	char words[128];

	for (uint32_t i = 0; i < ledger_class_count(state->run->ledger); i++)
		have_calls_changed |= differs(GAINED, &state->totals[i][GAINED]);
	table->note = notes[kind];
	if (kind == MEASURE_HELD && !table->rows.count && have_calls_changed)
		table->note = "by live: live amounts at exit have not changed, but the number of "
			      "calls has: see --by=count, or --by=temporary for temporary objects";
	snprintf(words, sizeof(words),
		 "amounts are estimates; %zu more call site%s may have changed, but by less than "
		 "twice the error",
		 left_out, left_out == 1 ? "" : "s");
	if (kind == MEASURE_TEMP)
		report_note_samples(state->run, table, REPORT_SAMPLED_TEMP);
	else
		report_note_samples(state->run, table, left_out ? words : REPORT_SAMPLED_AMOUNTS);
}

static void diff_end(void *user, struct tables *tables)
{
	struct diff_state *state = user;
	struct table *table = tables_begin(tables, TABLE_diff);
	struct measure_place place;
	size_t at = 0, left_out = 0;

	while (measure_next(state->measure, &at, &place))
		add_place(state, &place);
	join_renamed(state);
	for (size_t i = 0; i < state->spots.count; i++) {
		const struct measure_place *of = &state->spots.items[i]->place;
		bool may_be_chance =
			measure_kind(state->measure) == MEASURE_TEMP
				? of->sample[0] || of->sample[1]
				: is_within(of->amount[0], of->amount[1], error_of(of));

		if (state->run->options->is_of_set) {
			diff_put(table, of);
			continue;
		}
		if (!is_changed(of))
			continue;
		left_out += may_be_chance;
		if (!may_be_chance)
			diff_put(table, of);
	}
	put_note(state, table, left_out);
	table = tables_begin(tables, TABLE_totals);
	for (uint32_t i = 0; i < ledger_class_count(state->run->ledger); i++)
		for (int what = 0; what < TOTALS; what++)
			if (differs(what, &state->totals[i][what]))
				put_total(state, table, i, what);
}

static void diff_destroy(void *user)
{
	struct diff_state *state = user;

	free(state->spots.items);
	hash_table_free(&state->table);
	hash_table_free(&state->lone);
	pool_free(&state->pool);
	paths_free(&state->paths);
	measure_free(state->measure);
}

const struct report report_diff = {
	.wants_ledger = true,
	.wants_summary = true,
	.wants_base = true,
	.takes_by = true,
	.state_size = sizeof(struct diff_state),
	.begin = diff_begin,
	.event = measure_event,
	.process = diff_process,
	.end = diff_end,
	.destroy = diff_destroy,
};
