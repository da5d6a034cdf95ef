/* SPDX-License-Identifier: MIT */
/* The report `sizes`: a histogram, by powers of two, of the sizes of allocated blocks. */

#include "postproc/report/report.h"

#define BUCKETS 65u /* one each for sizes of 0, 1, 2 to 3, 4 to 7 ... bytes */

struct bucket {
	uint64_t count, bytes, held;
	double variance; /* variance of bytes */
};

struct sizes_state {
	struct report_run *run;
	struct bucket buckets[LEDGER_CLASSES][BUCKETS];
};

static unsigned bucket_of(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

static uint64_t smallest_of(unsigned bucket)
{
	return bucket ? 1ull << (bucket - 1) : 0;
}

static void on_move(void *user, const struct ledger_move *move)
{
	struct sizes_state *state = user;
	struct bucket *bucket = &state->buckets[move->class][bucket_of(move->item->size)];

	if (!move->is_acquisition || move->is_no_call)
		return;
	bucket->count += (uint64_t)move->count;
	bucket->bytes += move->bytes;
	bucket->variance += move->variance;
}

static void sizes_process(void *user)
{
	struct sizes_state *state = user;
	struct ledger_held held;
	size_t at = 0;

	while (ledger_held(state->run->ledger, &at, &held))
		state->buckets[held.class][bucket_of(held.size)].held += held.count;
}

static void sizes_put(struct sizes_state *state, struct table *table, uint32_t class,
		      unsigned index, uint64_t all)
{
	const struct bucket *bucket = &state->buckets[class][index];
	struct table_cell *row = report_add(state->run, table, class);

	table_number(CELL(row, sizes, from), smallest_of(index));
	table_number(CELL(row, sizes, to),
		     index ? smallest_of(index) + (smallest_of(index) - 1) : 0);
	table_number(CELL(row, sizes, count), bucket->count);
	table_number(CELL(row, sizes, bytes), bucket->bytes);
	table_error(CELL(row, sizes, bytes_error), bucket->variance, true);
	table_number(CELL(row, sizes, live), bucket->held);
	table_percent(CELL(row, sizes, share), bucket->count, all);
}

static void sizes_end(void *user, struct tables *tables)
{
	struct sizes_state *state = user;
	struct table *table = tables_begin(tables, TABLE_sizes);

	for (uint32_t class = 0; class < ledger_class_count(state->run->ledger); class ++) {
		const struct bucket *buckets = state->buckets[class];
		uint64_t all = 0;

		if (!ledger_class(state->run->ledger, class)->has_bytes)
			continue;
		for (unsigned i = 0; i < BUCKETS; i++)
			all += buckets[i].count;
		for (unsigned i = 0; i < BUCKETS; i++)
			if (buckets[i].count || buckets[i].held)
				sizes_put(state, table, class, i, all);
	}
}

const struct report report_sizes = {
	.wants_ledger = true,
	.state_size = sizeof(struct sizes_state),
	.move = on_move,
	.process = sizes_process,
	.end = sizes_end,
};
