/* SPDX-License-Identifier: MIT */
/*
 * The report `histogram`: the sizes of allocated blocks, by powers of two, and the times from
 * acquisition to release, by powers of ten. Objects that are live at the end are counted
 * separately.
 */

#include "postproc/report/report.h"

#define SIZES	  65u /* one bucket each for sizes of 0, 1, 2 to 3, 4 to 7 ... bytes */
#define LIFETIMES 13u /* one bucket each up to 1 us, 10 us ...; the last has no upper bound */
#define HELD	  LIFETIMES
#define FIRST_NS  1000ull

struct bucket {
	uint64_t count, bytes;
	double variance; /* variance of bytes */
	uint64_t held;	 /* for sizes: number of objects that are live at the end */
};

struct histogram_state {
	struct report_run *run;
	struct bucket sizes[LEDGER_CLASSES][SIZES];
	struct bucket lifetimes[LEDGER_CLASSES][LIFETIMES + 1];
};

static unsigned bucket_of(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

/* Returns the upper bound of a bucket of lifetimes in ns. Not for the last bucket. */
static uint64_t end_of(unsigned bucket)
{
	uint64_t end_ns = FIRST_NS;

	for (unsigned i = 0; i < bucket; i++)
		end_ns *= 10;
	return end_ns;
}

static void add_to_bucket(struct bucket *bucket, uint64_t count, uint64_t bytes, double variance)
{
	bucket->count += count;
	bucket->bytes += bytes;
	bucket->variance += variance;
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct histogram_state *state = user;
	uint64_t from_ns = move->item->acquired_ns, to_ns = move->event->time_ns;
	uint64_t ns = to_ns > from_ns ? to_ns - from_ns : 0;
	unsigned index = 0;

	if (move->is_no_call)
		return;
	if (move->is_acquisition) {
		add_to_bucket(&state->sizes[move->class][bucket_of(move->item->size)],
			      (uint64_t)move->count, move->bytes, move->variance);
		return;
	}
	if (move->count >= 0)
		return;
	while (index + 1 < LIFETIMES && ns >= end_of(index))
		index++;
	add_to_bucket(&state->lifetimes[move->class][index], (uint64_t)-move->count, move->bytes,
		      move->variance);
}

static void histogram_process(void *user)
{
	struct histogram_state *state = user;
	struct ledger_held held;
	size_t at = 0;

	while (ledger_held(state->run->ledger, &at, &held)) {
		state->sizes[held.class][bucket_of(held.size)].held += held.count;
		add_to_bucket(&state->lifetimes[held.class][HELD], held.count, held.bytes,
			      held.variance);
	}
}

static void put_sizes(struct histogram_state *state, struct table *table, uint32_t class)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < SIZES; i++)
		all += state->sizes[class][i].count;
	for (unsigned i = 0; i < SIZES; i++) {
		const struct bucket *bucket = &state->sizes[class][i];
		uint64_t smallest = i ? 1ull << (i - 1) : 0;
		struct table_cell *row;

		if (!bucket->count && !bucket->held)
			continue;
		row = report_add(state->run, table, class);
		table_number(CELL(row, sizes, from), smallest);
		table_number(CELL(row, sizes, to), i ? smallest + (smallest - 1) : 0);
		table_number(CELL(row, sizes, count), bucket->count);
		table_number(CELL(row, sizes, bytes), bucket->bytes);
		table_error(CELL(row, sizes, bytes_error), bucket->variance, true);
		table_number(CELL(row, sizes, live), bucket->held);
		table_percent(CELL(row, sizes, share), bucket->count, all);
	}
}

static void put_lifetimes(struct histogram_state *state, struct table *table, uint32_t class)
{
	uint64_t all = 0;

	for (unsigned i = 0; i <= HELD; i++)
		all += state->lifetimes[class][i].count;
	for (unsigned i = 0; i <= HELD; i++) {
		const struct bucket *bucket = &state->lifetimes[class][i];
		struct table_cell *row;

		if (!bucket->count)
			continue;
		row = report_add(state->run, table, class);
		table_text(table, CELL(row, lifetimes, state), i == HELD ? "live" : "released");
		if (i != HELD)
			table_number(CELL(row, lifetimes, from), i ? end_of(i - 1) : 0);
		if (i + 1 < LIFETIMES)
			table_number(CELL(row, lifetimes, below), end_of(i));
		table_number(CELL(row, lifetimes, count), bucket->count);
		if (ledger_class(state->run->ledger, class)->has_bytes)
			table_number(CELL(row, lifetimes, bytes), bucket->bytes);
		table_error(CELL(row, lifetimes, bytes_error), bucket->variance, true);
		table_percent(CELL(row, lifetimes, share), bucket->count, all);
	}
}

static void histogram_end(void *user, struct tables *tables)
{
	struct histogram_state *state = user;
	struct table *sizes = tables_begin(tables, TABLE_sizes);
	struct table *lifetimes = tables_begin(tables, TABLE_lifetimes);

	for (uint32_t class = 0; class < ledger_class_count(state->run->ledger); class ++) {
		if (ledger_class(state->run->ledger, class)->has_bytes)
			put_sizes(state, sizes, class);
		put_lifetimes(state, lifetimes, class);
	}
}

const struct report report_histogram = {
	.wants_ledger = true,
	.state_size = sizeof(struct histogram_state),
	.move = on_move,
	.process = histogram_process,
	.end = histogram_end,
};
