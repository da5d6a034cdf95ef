/* SPDX-License-Identifier: MIT */
/*
 * The report `lifetimes`: a histogram, by powers of ten, of the times from acquisition to release.
 * Objects that are live at the end are counted separately.
 */

#include "postproc/report/report.h"

#define BUCKETS	 13u /* their upper bounds are 1 us, 10 us ...; the last bucket has none */
#define HELD	 BUCKETS
#define FIRST_NS 1000ull

struct bucket {
	uint64_t count, bytes;
	double variance; /* variance of bytes */
};

struct lifetimes_state {
	struct report_run *run;
	struct bucket buckets[LEDGER_CLASSES][BUCKETS + 1];
};

/* Returns the upper bound of a bucket in ns. Not for the last bucket, which has none. */
static uint64_t end_of(unsigned bucket)
{
	uint64_t end_ns = FIRST_NS;

	for (unsigned i = 0; i < bucket; i++)
		end_ns *= 10;
	return end_ns;
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct lifetimes_state *state = user;
	uint64_t from_ns, ns;
	struct bucket *bucket;
	unsigned index = 0;

	if (move->is_acquisition || move->is_no_call || move->count >= 0)
		return;
	from_ns = move->item->acquired_ns;
	ns = move->event->time_ns > from_ns ? move->event->time_ns - from_ns : 0;
	while (index + 1 < BUCKETS && ns >= end_of(index))
		index++;
	bucket = &state->buckets[move->class][index];
	bucket->count += (uint64_t)-move->count;
	bucket->bytes += move->bytes;
	bucket->variance += move->variance;
}

static void lifetimes_process(void *user)
{
	struct lifetimes_state *state = user;
	struct ledger_held held;
	size_t at = 0;

	while (ledger_held(state->run->ledger, &at, &held)) {
		state->buckets[held.class][HELD].count += held.count;
		state->buckets[held.class][HELD].bytes += held.bytes;
		state->buckets[held.class][HELD].variance += held.variance;
	}
}

static void lifetimes_put(struct lifetimes_state *state, struct table *table, uint32_t class,
			  unsigned index, uint64_t all)
{
	const struct bucket *bucket = &state->buckets[class][index];
	struct table_cell *row = report_add(state->run, table, class);

	table_text(table, CELL(row, lifetimes, state), index == HELD ? "live" : "released");
	if (index != HELD)
		table_number(CELL(row, lifetimes, from), index ? end_of(index - 1) : 0);
	if (index + 1 < BUCKETS)
		table_number(CELL(row, lifetimes, below), end_of(index));
	table_number(CELL(row, lifetimes, count), bucket->count);
	if (ledger_class(state->run->ledger, class)->has_bytes)
		table_number(CELL(row, lifetimes, bytes), bucket->bytes);
	table_error(CELL(row, lifetimes, bytes_error), bucket->variance, true);
	table_percent(CELL(row, lifetimes, share), bucket->count, all);
}

static void lifetimes_end(void *user, struct tables *tables)
{
	struct lifetimes_state *state = user;
	struct table *table = tables_begin(tables, TABLE_lifetimes);

	for (uint32_t class = 0; class < ledger_class_count(state->run->ledger); class ++) {
		uint64_t all = 0;

		for (unsigned i = 0; i <= HELD; i++)
			all += state->buckets[class][i].count;
		for (unsigned i = 0; i <= HELD; i++)
			if (state->buckets[class][i].count)
				lifetimes_put(state, table, class, i, all);
	}
}

const struct report report_lifetimes = {
	.wants_ledger = true,
	.state_size = sizeof(struct lifetimes_state),
	.move = on_move,
	.process = lifetimes_process,
	.end = lifetimes_end,
};
